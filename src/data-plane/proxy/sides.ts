/**
 * The narrow seam an exchange is written against: the client's side and the upstream's side of one
 * request, whatever carries them. HTTP/1 on a raw socket implements both; TLS and HTTP/2 are others.
 * Header lines cross it as text (`Name: value\r\n`…), without framing and connection fields, which
 * belong to the leg.
 */
import type { SectionHash } from '../../shared/plan/types.ts';
import type { Head } from '../http1/head.ts';
import type { ClientTimes } from '../route/decision.ts';

/** What both sides share, and all that a tunnel needs of them. */
export interface RawSide {
  /** Stop reading from the peer until `resume`. A deadline watches the silence. */
  pause(): void;
  resume(): void;
  /** Bytes as they are; copied before the call returns unless `owned`. False = full until the next drain. */
  writeRaw(buffer: Buffer, start: number, end: number, owned: boolean): boolean;
  /** Half-close: FIN after the last byte. */
  finishRaw(): void;
  /** Abort: the peer sees a reset, never a clean end. */
  reset(): void;
}

/** What the exchange may ask of the client's side. */
export interface ClientSide extends RawSide {
  /** A 1xx answer; not sent to an HTTP/1.0 client (RFC 9110 section 15.2). */
  sendInterim(status: number, reason: string, lines: string): void;
  /** The final head. `body` (BODY_*) is what the upstream leg says of the body; the side frames its own leg. */
  sendHead(status: number, reason: string, lines: string, body: number): void;
  /** Payload; the bytes are copied before the call returns unless `owned`. False = stop until onClientDrain. */
  sendBody(buffer: Buffer, start: number, end: number, owned: boolean): boolean;
  /** The response is complete. `trailers` are lines, '' = none. */
  sendEnd(trailers: string): void;
  /** Nothing more in this turn: what is held back goes out. */
  flush(): void;
  /** Times of this request in the place of the server's. */
  limitTimes(times: ClientTimes): void;
  /** No other request on this connection. */
  closeAfter(): void;
  /** A 101 was agreed: `lines` complete it and the connection becomes a byte tunnel. What the client sent early goes first. */
  beginTunnel(lines: string, end: TunnelEnd): void;
}

/** What the exchange may ask of the upstream's side. */
export interface UpstreamSide extends RawSide {
  /** The connection carried another exchange before this one, which it has not begun to answer. */
  readonly reused: boolean;
  /** `lines` are complete for the upstream leg; `chunked` frames the body that follows. */
  sendHead(requestLine: string, lines: string, method: string, chunked: boolean): void;
  sendBody(buffer: Buffer, start: number, end: number, owned: boolean): boolean;
  sendEnd(trailers: string): void;
  flush(): void;
  /** From now on a missing response head is a timeout; 0 = wait for ever. */
  expectHead(timeoutMs: number): void;
  /** From now on bytes are passed as they are. */
  beginTunnel(end: TunnelEnd): void;
  /** Done with it: kept for `idleMs` among at most `maxIdle` others, closed when either is 0. */
  release(idleMs: number, maxIdle: number): void;
  /** As `release`, before the response is complete: what is left of it is read and dropped, within bounds. */
  discard(idleMs: number, maxIdle: number): void;
}

/** What the upstream's side tells the exchange. */
export interface UpstreamUser {
  /** Hash of the pool the upstream was picked from, '' = nobody's. */
  readonly poolHash: SectionHash;
  /** It has to leave its upstream. True: it is a tunnel and says goodbye; false: it is to be broken off. */
  sayGoodbye(): boolean;
  onConnected(side: UpstreamSide): void;
  onDialFailed(code: string): void;
  /** Every head: 1xx, 101 and final ones. Valid during the call only. */
  onResponseHead(head: Head): void;
  onResponseBody(buffer: Buffer, start: number, end: number): void;
  /** `reusable`: as far as the upstream is concerned the connection may carry another exchange. */
  onResponseEnd(trailers: string, reusable: boolean): void;
  /** The bytes of one read were handed over. */
  onResponseTurn(): void;
  onUpstreamDrain(): void;
  onUpstreamFailed(failure: UpstreamFailure, detail: string): void;
}

/** closed: FIN or reset. refused: the server did nothing with the request and says so (HTTP/2). leaving: as that, because the connection ends. cut: ended by us, its drain deadline passed. invalid: not HTTP. timeout: no response head in time. */
export type UpstreamFailure = 'closed' | 'refused' | 'leaving' | 'cut' | 'invalid' | 'timeout';

/** One end of a tunnel, as the other side drives it. */
export interface TunnelEnd {
  /** Returns false when the receiver is full. */
  onTunnelData(buffer: Buffer, start: number, end: number, owned: boolean): boolean;
  /** The other side half-closed after its last byte. */
  onTunnelFin(): void;
  /** The other side broke. */
  onTunnelReset(): void;
  /** The other side can take bytes again. */
  onTunnelDrain(): void;
}
