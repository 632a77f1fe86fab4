/**
 * What a connection says before it is known where it goes: its PROXY header and the first bytes, against the routes.
 * PURE but for the walk it stands in.
 */
import type { IpAddress } from '../../shared/net/ip.ts';
import { readProxyHeader, type ProxyEnds } from '../../shared/net/proxy-header-reader.ts';
import type { Pool } from '../pool/pool.ts';
import type { TlsFacts } from '../route/tls-facts.ts';
import { FlowView } from './flow-view.ts';
import type { FlowRequest } from './flow-request.ts';
import { RouteWalk, sendsHeader, type FlowRoute, type Progress } from './routes.ts';

/** Bytes looked at to choose a route; what cannot be decided by then does not hold. */
const MAX_PEEK_BYTES = 16_384;

const NO_BYTES: Buffer = Buffer.alloc(0);

/**
 * 'header': its PROXY header is not whole. 'bytes': a matcher needs more of the payload. 'bad': the header is broken.
 * 'none': no route takes it.
 */
export type Opened =
  | { readonly kind: 'header'; readonly timeoutMs: number }
  | { readonly kind: 'bytes' | 'bad' | 'none' }
  | Exclude<Progress<Pool>, string | { readonly kind: 'proxy_protocol' }>;

const BYTES: Opened = Object.freeze({ kind: 'bytes' });
const BAD: Opened = Object.freeze({ kind: 'bad' });
const NONE: Opened = Object.freeze({ kind: 'none' });

export class Opening {
  readonly #walk: RouteWalk<Pool>;
  readonly #view: FlowView;
  readonly #request: FlowRequest;
  readonly #peer: IpAddress | null;
  /** The header that is waited for. */
  #headerStep: { readonly kind: 'header'; readonly timeoutMs: number } | null = null;
  /** No byte will follow. */
  #ended = false;
  /** Of the TLS that was ended here; null = none was. */
  tls: TlsFacts | null = null;

  constructor(routes: readonly FlowRoute<Pool>[], request: FlowRequest) {
    this.#walk = new RouteWalk(routes);
    this.#request = request;
    this.#peer = request.client;
    this.#view = new FlowView(request.client, NO_BYTES, false);
  }

  /** Payload that was read and not passed on. */
  get bytes(): Buffer {
    return this.#view.bytes;
  }

  /** The name that the client asked for in the handshake, or in a ClientHello that goes on; '' = none is known. */
  get serverName(): string {
    const { hello } = this.#view;
    return (typeof hello === 'number' ? '' : hello.serverName) || (this.tls?.serverName ?? '');
  }

  /** The payload, which somebody else reads from now on. */
  take(): Buffer {
    const { bytes } = this.#view;
    this.#view.bytes = NO_BYTES;
    return bytes;
  }

  /** The bytes that follow come from inside of TLS. */
  secured(facts: TlsFacts): void {
    this.tls = facts;
    this.#ended = false;
  }

  /** Takes bytes over. */
  add(bytes: Buffer): void {
    const { length } = this.#view.bytes;
    this.#view.bytes = length === 0 ? bytes : Buffer.concat([this.#view.bytes, bytes]);
  }

  /** The client sends nothing more, or not in time: routes are chosen with what there is. */
  end(): void {
    this.#ended = true;
  }

  /** As far as it gets. To be asked again with more bytes after 'header' and 'bytes'. */
  advance(): Opened {
    for (;;) {
      if (this.#headerStep !== null) {
        const read = readProxyHeader(this.#view.bytes, 'stream');
        if (read === 'more' && !this.#ended) return this.#headerStep;
        if (typeof read === 'string') return BAD;
        this.#headerStep = null;
        this.#view.bytes = this.#view.bytes.subarray(read.length);
        if (read.ends !== null) this.#replaceEnds(read.ends);
      }
      this.#view.final = this.#ended || this.#view.bytes.length >= MAX_PEEK_BYTES;
      const step = this.#walk.next(this.#view);
      if (step === 'more') return BYTES;
      if (step === 'none') return NONE;
      if (step.kind !== 'proxy_protocol') return step;
      // The address the connection itself comes from: another header may have named somebody else by now.
      if (sendsHeader(step, this.#peer)) this.#headerStep = { kind: 'header', timeoutMs: step.timeoutMs };
    }
  }

  #replaceEnds(ends: ProxyEnds): void {
    this.#view.client = ends.source;
    this.#request.replaceEnds(ends.source, ends.sourcePort, {
      localAddress: ends.destination.text,
      localPort: ends.destinationPort,
    });
  }
}
