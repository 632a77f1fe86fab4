/**
 * Bytes after an upgrade: two sides, each half-closed, paused and reset on behalf of the other
 * (RFC 9293 section 3.6). A reset on one side is a reset on the other, never a clean end.
 */
import type { RawSide, TunnelEnd } from './sides.ts';

export class Tunnel {
  /** Given to the client's side: what it reads goes upstream. */
  readonly fromClient: Half;
  /** Given to the upstream's side. */
  readonly fromUpstream: Half;
  readonly #onEnd: () => void;
  #over = false;

  /** `onEnd` runs once, when both directions ended or one side broke. */
  constructor(client: RawSide, upstream: RawSide, onEnd: () => void) {
    this.fromClient = new Half(this, upstream);
    this.fromUpstream = new Half(this, client);
    this.#onEnd = onEnd;
  }

  finished(): void {
    if (this.fromClient.ended && this.fromUpstream.ended) this.over();
  }

  over(): void {
    if (this.#over) return;
    this.#over = true;
    this.#onEnd();
  }
}

export class Half implements TunnelEnd {
  ended = false;
  bytes = 0;
  readonly #tunnel: Tunnel;
  readonly #target: RawSide;

  constructor(tunnel: Tunnel, target: RawSide) {
    this.#tunnel = tunnel;
    this.#target = target;
  }

  onTunnelData(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    this.bytes += end - start;
    return this.#target.writeRaw(buffer, start, end, owned);
  }

  onTunnelFin(): void {
    if (this.ended) return;
    this.ended = true;
    this.#target.finishRaw();
    this.#tunnel.finished();
  }

  onTunnelReset(): void {
    this.#target.reset();
    this.#tunnel.over();
  }

  /** The side that owns this end can take bytes again: its counterpart may be read on. */
  onTunnelDrain(): void {
    this.#target.resume();
  }
}

/** Why a 101 is no answer to this request. */
export function switchFault(agreed: string, wanted: string): string {
  if (agreed === wanted && wanted !== '') return 'switched protocols before it had the whole request';
  return `switched to ${agreed || 'nothing'} when ${wanted || 'nothing'} was asked for`;
}
