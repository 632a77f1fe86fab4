import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Logger } from '../../shared/log.ts';
import { joinHostPort } from '../../shared/net/address.ts';
import type { AdminSpec } from '../compile/compiled.ts';
import { createAllowList, type AllowList } from './allow-list.ts';
import { DEFAULT_MAX_BODY_BYTES, readBody } from './body.ts';
import {
  AdminError,
  emptyReply,
  errorReply,
  sendReply,
  type AdminReply,
  type AdminRequest,
  type Route,
} from './exchange.ts';
import { filterRequest } from './filter.ts';
import { findRoute } from './router.ts';
import { changeMode, listenUnix } from '../../shared/net/unix-listener.ts';

/** Caddy's limits. The control plane is not the hot path, so `node:http` serves it. */
const HEADERS_TIMEOUT_MS = 5000;
const REQUEST_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 60_000;
const MAX_HEADER_BYTES = 64 * 1024;
/** Node looks for connections past their deadline this often. */
const DEADLINE_CHECK_MS = 1000;

export interface AdminServerOptions {
  readonly spec: AdminSpec;
  readonly routes: readonly Route[];
  readonly log: Logger;
  /** Default `DEFAULT_MAX_BODY_BYTES`. */
  readonly maxBodyBytes?: number;
}

export interface BoundAddress {
  /** `unix//path` for a Unix socket, whose port is 0. */
  readonly host: string;
  readonly port: number;
}

/** One bound admin endpoint. */
export class AdminServer {
  readonly #options: AdminServerOptions;
  readonly #server: Server;
  /** Ends replies that have no end of their own. */
  readonly #endless = new Set<() => void>();
  #allowList: AllowList;

  constructor(options: AdminServerOptions) {
    this.#options = options;
    this.#allowList = createAllowList(options.spec, options.spec.port);
    this.#server = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        keepAliveTimeout: IDLE_TIMEOUT_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
        connectionsCheckingInterval: DEADLINE_CHECK_MS,
        // The filter answers requests without Host, in the error shape of the API.
        requireHostHeader: false,
      },
      (message, response) => void this.#answer(message, response),
    );
  }

  /** Resolves with the bound address. Rejects with the bind error. */
  async listen(): Promise<BoundAddress> {
    const { host, port, unix } = this.#options.spec;
    if (unix !== undefined) await listenUnix(this.#server, unix);
    else await this.#listenTcp(host, port);
    this.#server.on('error', (error) => this.#options.log.error('admin endpoint', { error }));
    const bound = this.#bound();
    this.#allowList = createAllowList(this.#options.spec, bound.port);
    return bound;
  }

  async #listenTcp(host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ port, ...(host === '' ? {} : { host }) }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
  }

  /** Other origins, or another mode, for the same address. */
  setRules(spec: AdminSpec): void {
    if (spec.unix !== undefined) changeMode(spec.unix.path, spec.unix.mode);
    this.#allowList = createAllowList(spec, this.#bound().port);
  }

  /** Takes no new requests; the ones that run get `graceMs` to end. */
  async close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    for (const cancel of this.#endless) cancel();
    const cut = setTimeout(() => this.#server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(cut);
  }

  #bound(): BoundAddress {
    const bound = this.#server.address();
    if (bound === null) throw new Error('the admin endpoint is not bound');
    if (typeof bound === 'string') return { host: `unix/${bound}`, port: 0 };
    return { host: bound.address, port: bound.port };
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', (error) => this.#options.log.debug('admin reply not delivered', { error }));
    const { reply, cors } = await this.#replyTo(message);
    // A body nobody read must not be taken for the next request, nor be waited for. An endless reply ends with the
    // endpoint, and its connection has to go with it.
    const headers =
      message.complete && reply.cancel === undefined ? reply.headers : { ...reply.headers, Connection: 'close' };
    if (reply.cancel !== undefined) this.#endless.add(reply.cancel);
    try {
      await sendReply(response, { ...reply, headers: { ...headers, ...cors } }, message.method !== 'HEAD');
    } catch (error) {
      // The head is gone already: only a cut response tells the client that the body is not whole.
      this.#options.log.error('admin reply broke off', { path: message.url, error });
      response.destroy();
    }
    if (reply.cancel !== undefined) this.#endless.delete(reply.cancel);
  }

  async #replyTo(message: IncomingMessage): Promise<{ reply: AdminReply; cors: Record<string, string> }> {
    const verdict = filterRequest(
      {
        method: message.method ?? '',
        target: message.url ?? '',
        httpVersion: message.httpVersion,
        rawHeaders: message.rawHeaders,
        localAuthority: localAuthority(message),
      },
      this.#allowList,
    );
    if (!verdict.allowed) {
      this.#options.log.warn('admin request refused', {
        reason: verdict.message,
        remote: message.socket.remoteAddress,
      });
      return { reply: errorReply(verdict.status, verdict.message), cors: {} };
    }
    const cors = corsHeaders(verdict.origin);
    if (message.method === 'OPTIONS' && verdict.origin !== '') return { reply: emptyReply(204), cors };
    return { reply: await this.#run(message), cors };
  }

  async #run(message: IncomingMessage): Promise<AdminReply> {
    const { path, query } = splitTarget(message.url ?? '/');
    const found = findRoute(this.#options.routes, message.method ?? '', path);
    if ('refusal' in found) return found.refusal;
    try {
      return await found.handler(this.#request(message, path, found.rest, query));
    } catch (error) {
      if (error instanceof AdminError) return errorReply(error.status, error.message);
      this.#options.log.error('admin request failed', { path, error });
      return errorReply(500, error instanceof Error ? error.message : String(error));
    }
  }

  #request(message: IncomingMessage, path: string, rest: string, query: URLSearchParams): AdminRequest {
    return {
      method: message.method ?? '',
      path,
      rest,
      query,
      header: (name) => message.headersDistinct[name.toLowerCase()]?.join(', ') ?? '',
      body: () => readBody(message, this.#options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES),
    };
  }
}

function localAuthority({ socket }: IncomingMessage): string {
  const address = (socket.localAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
  return joinHostPort(address, socket.localPort ?? 0);
}

/** Path and query of a target in origin or absolute form. */
function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const origin = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const at = origin.indexOf('?');
  const path = at === -1 ? origin : origin.slice(0, at);
  return { path: path === '' ? '/' : path, query: new URLSearchParams(at === -1 ? '' : origin.slice(at + 1)) };
}

function corsHeaders(origin: string): Record<string, string> {
  if (origin === '') return {};
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Methods': 'OPTIONS, GET, POST, PUT, PATCH, DELETE',
    'Access-Control-Allow-Headers': 'Content-Type, Content-Length, Cache-Control, If-Match',
    Vary: 'Origin',
  };
}
