/**
 * The body of a request on its way upstream: how much of it came, what waits for an upstream or is kept for further
 * tries, and whether another upstream can still be given all of it.
 */
import { BODY_LENGTH, BODY_NONE, type Head } from '../http1/head.ts';
import { emptiesBody } from '../route/upstream-request.ts';
import { HeldBody } from './held-body.ts';
import { WaitingBody } from './waiting-body.ts';

export class RequestRelay {
  /** Nothing more of it comes, as far as the upstream is concerned. */
  complete: boolean;
  trailers = '';
  /** It is read before an upstream is asked. */
  buffering = false;
  /** Some of it went to an upstream. */
  sent = false;
  /** The rest of it will not come, or is not wanted. */
  broken = false;
  /** It comes, and goes nowhere. */
  dropped = false;
  maxBytes: number = Infinity;
  #bytes = 0;
  /** What waits for an upstream, or is kept for further tries; null = nothing. */
  #waiting: WaitingBody | null = null;
  /** It waits for what stands behind `handle_response`; null = it does not. */
  #held: HeldBody | null = null;

  constructor(head: Head) {
    this.complete = !head.hasBody;
  }

  /** `request_buffers` got the client its 100 already. */
  get isKept(): boolean {
    return this.#waiting?.isKept === true;
  }

  get isHeld(): boolean {
    return this.#held !== null;
  }

  /** The client is to be paused until an upstream takes what waits. */
  get isFull(): boolean {
    return this.#waiting?.full === true;
  }

  /** Another upstream can be given the whole request: it has no body, or all of it is kept. */
  get isReplayable(): boolean {
    if (this.#held !== null) return true;
    return this.complete && (this.#waiting === null ? !this.sent : this.#waiting.whole);
  }

  /** No upstream can be given the whole request any more. */
  get isLost(): boolean {
    return this.broken || this.#held !== null || (this.sent && !this.isReplayable);
  }

  /** Counts bytes that came; false = they are more than the client may send. */
  admits(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.maxBytes;
  }

  /** `body` goes upstream, to anybody who is asked; what the client sends of its own is read and dropped. */
  replace(head: Head, body: Buffer): void {
    head.body = body.length === 0 ? BODY_NONE : BODY_LENGTH;
    head.contentLength = body.length;
    head.expectContinue = false;
    this.complete = true;
    this.dropped = true;
    this.trailers = '';
    this.#waiting = null;
    if (body.length === 0) return;
    this.#waiting = new WaitingBody(body.length);
    this.#waiting.add(body, 0, body.length);
    this.#waiting.whole = true;
  }

  /** A rewrite made another method of it: one without a body empties it. `mayBeAskedAgain`: what follows can want it after all. */
  rewritten(head: Head, method: string, sentMethod: string, mayBeAskedAgain: boolean): void {
    const held = new HeldBody(head, this.complete);
    if (!emptiesBody(head, method, sentMethod)) return;
    this.complete = true;
    if (mayBeAskedAgain) {
      this.#held = held;
    } else {
      this.dropped = true;
      this.broken = true;
      this.#waiting = null;
    }
  }

  /** What stands behind `handle_response` gets it after all. */
  release(head: Head): void {
    if (this.#held === null) return;
    this.#held.restore(head);
    this.complete = this.#held.complete;
    this.#held = null;
  }

  /** Whether no upstream is asked before the body is here, up to `bytes` of it. */
  buffer(bytes: number, contentLength: number): boolean {
    const early = this.#waiting;
    if (bytes === 0 || contentLength > bytes || this.sent || this.#held !== null) return false;
    if (early === null ? this.complete : early.isKept || early.bytes > bytes) return false;
    this.#waiting = early === null ? new WaitingBody(bytes) : early.kept(bytes);
    this.#waiting.whole = this.complete;
    this.buffering = !this.complete;
    return this.buffering;
  }

  /** No upstream takes these bytes now. True = they are more than is buffered: an upstream is to be asked. */
  keep(buffer: Buffer, start: number, end: number): boolean {
    const body = (this.#waiting ??= new WaitingBody(0));
    body.add(buffer, start, end);
    return this.buffering && body.overflows;
  }

  /** The client has sent all of it. */
  ended(trailers: string): void {
    this.complete = true;
    this.trailers = trailers;
    if (this.#held !== null) this.#held.complete = true;
    else if (this.buffering) this.#waiting!.whole = true;
  }

  /** Bytes that wait for the upstream just connected. */
  get waitingBytes(): number {
    return this.#held === null && this.#waiting !== null ? this.#waiting.bytes : 0;
  }

  take(): readonly Buffer[] {
    this.sent = true;
    return this.#waiting!.take();
  }

  forget(): void {
    this.#waiting = null;
  }
}
