/**
 * A request as matchers, placeholders and handlers see it. The exchange implements it; `explain`
 * makes one from its arguments.
 */
import type { IpAddress } from '../../shared/net/ip.ts';
import type { Head } from '../http1/head.ts';
import type { TlsFacts } from './tls-facts.ts';
import type { RequestNotes } from './notes.ts';

export interface RequestView {
  /** Its field lines are what `request_header` made of them. */
  readonly head: Head;
  /** May be changed by `rewrite`. */
  method: string;
  /** Origin-form target as it will go upstream; changed by `rewrite`, `uri`, `handle_path`. */
  target: string;
  /** Host of the request, lower case, without port; '' when it has none. Changed by `request_header Host`. */
  host: string;
  /** Host, port included, as it was received or set. */
  hostport: string;
  readonly scheme: 'http' | 'https';
  /** null, absent = it came in the clear. */
  readonly tls?: TlsFacts | null;
  /** TCP peer, or the source of a PROXY header. */
  readonly peer: IpAddress | null;
  readonly peerPort: number;
  /** Address and port the connection came in on. */
  readonly localAddress: string;
  readonly localPort: number;
  /** The derived client address: the peer, or what trusted proxies say (client-ip/derive.ts). */
  readonly client: IpAddress | null;
  /** The peer is one of the server's trusted proxies. */
  readonly trusted: boolean;
  /** Set by the `vars` handler. */
  readonly vars: Map<string, string>;
  /** What handlers and matchers put down for later placeholders; null until one does. */
  notes: RequestNotes | null;
  /** Values that only the exchange knows: `http.reverse_proxy.upstream.hostport`, `http.reverse_proxy.affinity`, … undefined = unknown name. */
  proxyValue(name: string): string | undefined;
  /** Wall-clock milliseconds. */
  readonly wallMs: number;
  /** A random UUID, the same for the whole request; made on first use. */
  uuid(): string;
}
