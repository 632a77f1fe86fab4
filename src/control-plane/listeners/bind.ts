import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { bindSocket, type BoundSocket } from './bound-socket.ts';

/** An address is taken, forbidden or not on this machine: nothing has changed. */
export class ListenError extends Error {
  readonly code: string;

  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ListenError';
    this.code = code;
  }
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** What is listened on, as messages name it. */
export interface ListenTarget extends ListenAddress {
  /** Where it was written (`Caddyfile:3`); absent when that is not the point. */
  readonly place?: string;
  /** 'udp' is named in messages; absent = TCP. */
  readonly network?: 'tcp' | 'udp' | 'unix';
}

/** What happened, why and what to do, and where it was written. */
export function listenError(what: string, reason: string, code: string, place = '', cause?: unknown): ListenError {
  const at = place === '' ? '' : `, at ${place}`;
  return new ListenError(`cannot listen on ${what}: ${reason}${at}`, code, cause === undefined ? {} : { cause });
}

/** `host:port` as people write it; the empty host is all addresses. */
export function printAddress({ host, port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The IP addresses to try for a configured host, in order: '' is dual stack, or IPv4 where there is no IPv6. */
export async function bindHosts({ host, place }: Omit<ListenTarget, 'port'>): Promise<readonly string[]> {
  if (host === '') return ['::', '0.0.0.0'];
  if (isIP(host) !== 0) return [host];
  try {
    const found = await lookup(host);
    return [found.address];
  } catch (error) {
    throw listenError(host, 'the name does not resolve (is it in DNS or the hosts file?)', 'ENOTFOUND', place, error);
  }
}

export interface BindRequest {
  /** As configured, for messages. */
  readonly configured: ListenTarget;
  /** Candidates from `bindHosts`. */
  readonly hosts: readonly string[];
  readonly count: number;
  /** This process listens on the port already: the other sockets are its own. */
  readonly held: boolean;
  /** SO_REUSEPORT exists here (Linux). */
  readonly reusePort: boolean;
}

/**
 * Binds `count` sockets to one address without listening; a port of 0 is resolved once, for all of
 * them. Throws `ListenError`, and leaves nothing bound, when one of them fails.
 *
 * SO_REUSEPORT lets a second process of the same user share a port in silence. So an address this
 * process does not hold is bound first without it, which fails while anybody listens there. Two
 * instances that start in the same millisecond can both pass; nothing cheaper than a lock file would stop that.
 */
export function bindAll(request: BindRequest): BoundSocket[] {
  let failure: unknown;
  for (const host of request.hosts) {
    try {
      return bindHost(host, request);
    } catch (error) {
      failure = error;
      if (!isMissingFamily(error)) break;
    }
  }
  throw explain(failure, request.configured);
}

function bindHost(host: string, { configured, count, held, reusePort }: BindRequest): BoundSocket[] {
  if (!held && reusePort) bindSocket({ host, port: configured.port, reusePort: false }).close();
  const bound: BoundSocket[] = [];
  try {
    let { port } = configured;
    while (bound.length < count) {
      const socket = bindSocket({ host, port, reusePort });
      bound.push(socket);
      port = socket.address().port;
    }
  } catch (error) {
    for (const socket of bound) socket.close();
    throw error;
  }
  return bound;
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The host has no IPv6 (or has it turned off). */
export function isMissingFamily(error: unknown): boolean {
  return ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'].includes(codeOf(error));
}

/** What bind(2) or listen(2) said, in words: what happened, where, what to do. */
export function explain(error: unknown, target: ListenTarget): ListenError {
  const code = codeOf(error);
  const what = `${target.network === 'udp' ? 'udp/' : ''}${printAddress(target)}`;
  return listenError(what, reasonText(code, target.port, error), code, target.place, error);
}

function reasonText(code: string, port: number, error: unknown): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'address already in use (is another server, or another Holdfast, running on it?)';
    case 'EACCES':
    case 'EPERM':
      return `permission denied (ports below 1024 need root or CAP_NET_BIND_SERVICE: setcap, or AmbientCapabilities in the unit; or use a port above 1023 instead of ${port})`;
    case 'EADDRNOTAVAIL':
      return 'the address is not on this machine (check the bind address and `ip address`)';
    default:
      return error instanceof Error ? error.message : String(error);
  }
}
