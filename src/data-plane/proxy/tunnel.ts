/**
 * Bytes after an upgrade: two sides, each half-closed, paused and reset on behalf of the other
 * (RFC 9293 section 3.6). A reset on one side is a reset on the other, never a clean end.
 */
import type { Random } from '../../shared/random.ts';
import type { RawSide, TunnelEnd } from './sides.ts';
import { closeFrame, FrameTracker } from './websocket-frames.ts';

export class Tunnel {
  /** Given to the client's side: what it reads goes upstream. */
  readonly fromClient: Half;
  /** Given to the upstream's side. */
  readonly fromUpstream: Half;
  readonly #onEnd: () => void;
  #over = false;

  /**
   * `onEnd` runs once, when both directions ended or one side broke. `bufferBytes` may wait for either side besides
   * what its socket takes, before the other is read no further.
   */
  constructor(client: RawSide, upstream: RawSide, onEnd: () => void, bufferBytes = 0) {
    this.fromClient = new Half(this, upstream, bufferBytes);
    this.fromUpstream = new Half(this, client, bufferBytes);
    this.#onEnd = onEnd;
  }

  finished(): void {
    if (this.fromClient.ended && this.fromUpstream.ended) this.over();
  }

  /** From now on what a goodbye between frames needs is kept track of. `protocol` is the one that was agreed, lower case. */
  limit(protocol: string): void {
    if (protocol !== 'websocket') return;
    this.fromClient.frames = new FrameTracker();
    this.fromUpstream.frames = new FrameTracker();
  }

  /** A close frame where it stands between two others, then FIN, both ways. */
  close(random: Random): void {
    this.fromUpstream.sayGoodbye(() => closeFrame('client', random));
    this.fromClient.sayGoodbye(() => closeFrame('server', random));
  }

  abort(): void {
    this.fromClient.onTunnelReset();
    this.fromUpstream.onTunnelReset();
  }

  /** The side that owns `half` took all that was written to it. */
  drained(half: Half): void {
    (half === this.fromClient ? this.fromUpstream : this.fromClient).emptied();
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
  /** null = not followed. */
  frames: FrameTracker | null = null;
  /** Bytes written since the target was full. */
  #waitingBytes = 0;
  /** We have ended this direction: what still comes is read and dropped. */
  #silenced = false;
  readonly #tunnel: Tunnel;
  readonly #target: RawSide;
  readonly #bufferBytes: number;

  constructor(tunnel: Tunnel, target: RawSide, bufferBytes: number) {
    this.#tunnel = tunnel;
    this.#target = target;
    this.#bufferBytes = bufferBytes;
  }

  onTunnelData(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    if (this.#silenced) return true;
    this.bytes += end - start;
    this.frames?.push(buffer, start, end);
    if (this.#target.writeRaw(buffer, start, end, owned)) return true;
    this.#waitingBytes += end - start;
    return this.#waitingBytes < this.#bufferBytes;
  }

  onTunnelFin(): void {
    if (this.ended) return;
    this.ended = true;
    if (!this.#silenced) this.#target.finishRaw();
    this.#tunnel.finished();
  }

  /** The target sees the end of this direction; its own FIN is still waited for. */
  sayGoodbye(frame: () => Buffer): void {
    if (this.ended || this.#silenced) return;
    this.#silenced = true;
    if (this.frames !== null && this.frames.atBoundary && !this.frames.closed) {
      const bytes = frame();
      this.#target.writeRaw(bytes, 0, bytes.length, true);
    }
    this.#target.finishRaw();
    // A side that waited for the other to read is read on: only so is its FIN seen.
    this.#target.resume();
  }

  onTunnelReset(): void {
    this.#target.reset();
    this.#tunnel.over();
  }

  /** The side that owns this end can take bytes again: its counterpart may be read on. */
  onTunnelDrain(): void {
    this.#tunnel.drained(this);
    this.#target.resume();
  }

  /** The target took everything. */
  emptied(): void {
    this.#waitingBytes = 0;
  }
}

/** Why a 101 is no answer to this request. */
export function switchFault(agreed: string, wanted: string): string {
  if (agreed === wanted && wanted !== '') return 'switched protocols before it had the whole request';
  return `switched to ${agreed || 'nothing'} when ${wanted || 'nothing'} was asked for`;
}
