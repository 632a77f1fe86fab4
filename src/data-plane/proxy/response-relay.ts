/**
 * The response on its way to the client, an upstream's or our own: held back whole where `response_buffers` says so,
 * compressed where `encode` does.
 */
import { BODY_CHUNKED, BODY_LENGTH, BODY_NONE, type Head } from '../http1/head.ts';
import { reasonOf } from '../http1/reasons.ts';
import { isUnsized } from '../http1/response-head.ts';
import type { CompiledEncoding } from '../route/encode.ts';
import { BodyEncoder, type EncoderUser } from './body-encoder.ts';
import type { OwnResponse } from './own-response.ts';
import { frameForOwnMethod } from './own-method.ts';
import type { ClientSide } from './sides.ts';
import { replaceStatus } from './upstream-answer.ts';
import { WaitingBody } from './waiting-body.ts';

/** The exchange, as its response sees it. */
export interface RelayUser {
  /** All of the response is with the client's side, but for its end. */
  onResponseSent(trailers: string): void;
  /** The source of the body may go on. */
  onResponseDrain(): void;
  /** The rest of it cannot be sent. */
  onResponseBroken(): void;
}

/** A response whose head waits for its body. */
interface HeldResponse {
  readonly status: number;
  readonly reason: string;
  readonly lines: string;
  readonly framing: number;
  readonly encoding: CompiledEncoding | null;
  readonly body: WaitingBody;
}

export class ResponseRelay implements EncoderUser {
  readonly #client: ClientSide;
  readonly #user: RelayUser;
  /** The client was sent a final head: a failure can only cut it off. */
  begun = false;
  /** The source has no more for it; what is left is on its way through the encoder. */
  ending = false;
  /** Of the response on its way or looked at, 0 = none. */
  status = 0;
  /** Body bytes given to the client. */
  sentBytes = 0;
  /** Body bytes of the upstream that now answers. */
  receivedBytes = 0;
  /** The upstream sends a body that the client gets nothing of. */
  #dropsBody = false;
  /** null = nothing is held back. */
  #held: HeldResponse | null = null;
  /** null = bytes go out as they come. */
  #encoder: BodyEncoder | null = null;
  /** What the source gives is encoded and sent as it comes, not when there is enough of it. */
  #flushes = false;
  #trailers = '';

  constructor(client: ClientSide, user: RelayUser) {
    this.#client = client;
    this.#user = user;
  }

  /** Fits the framing of an upstream's response to the client's own `method` and to a status that was replaced. */
  frame(head: Head, sentMethod: string, method: string): void {
    this.#dropsBody = sentMethod !== method && frameForOwnMethod(head, sentMethod, method);
    if (head.status !== this.status && replaceStatus(head, this.status, method)) this.#dropsBody = true;
  }

  /** `holdBytes`: the head waits for that much of the body, or its end. `encoding`: `lines` say so already; null = none. */
  begin(head: Head, reason: string, lines: string, holdBytes: number, encoding: CompiledEncoding | null): void {
    const { status, body: framing } = head;
    // Of a response before this one, which broke off while it was held.
    this.#held = null;
    if (holdBytes > 0 && framing !== BODY_NONE && !this.#dropsBody) {
      this.#held = { status, reason, lines, framing, encoding, body: new WaitingBody(holdBytes) };
    } else {
      this.#sendHead(status, reason, lines, framing, encoding);
    }
  }

  /** Copied before the call returns. False = the upstream is to be paused. */
  body(buffer: Buffer, start: number, end: number): boolean {
    if (this.#dropsBody) return true;
    this.receivedBytes += end - start;
    if (this.#held !== null) return this.#hold(this.#held, buffer, start, end);
    return this.#pass(buffer, start, end);
  }

  /** The source has no more. `onResponseSent` follows, perhaps at once. */
  end(trailers: string): void {
    if (this.#held !== null) this.#release(this.#held);
    if (this.#encoder === null) {
      this.#user.onResponseSent(trailers);
      return;
    }
    this.ending = true;
    this.#trailers = trailers;
    this.#encoder.end();
  }

  /** An answer of our own, whole. `method` is the client's own, whatever a rewrite made of it. */
  own({ status, lines, body, encoding }: OwnResponse, method: string): void {
    const bodyless = method === 'HEAD' || status === 204 || status === 304;
    this.#held = null;
    this.status = status;
    this.#sendHead(status, reasonOf(status), lines, bodyless ? BODY_NONE : BODY_LENGTH, encoding);
    if (this.#encoder !== null) {
      this.#encoder.write(body);
    } else if (!bodyless) {
      this.sentBytes = body.length;
      this.#client.sendBody(body, 0, body.length, true);
    }
    this.end('');
  }

  /** Nothing more of the source comes in this turn. */
  turn(): void {
    if (this.#encoder !== null && this.#flushes) this.#encoder.flush();
    this.#client.flush();
  }

  /** The client takes bytes again. */
  onClientDrain(): void {
    if (this.#encoder !== null) this.#encoder.resume();
    else this.#user.onResponseDrain();
  }

  /** Nothing of it goes out any more. */
  close(): void {
    this.#held = null;
    this.#encoder?.destroy();
    this.#encoder = null;
  }

  // --- encoder ------------------------------------------------------------------------------------

  onEncoded(bytes: Buffer): boolean {
    this.sentBytes += bytes.length;
    const open = this.#client.sendBody(bytes, 0, bytes.length, true);
    this.#client.flush();
    return open;
  }

  onEncoderDrain(): void {
    this.#user.onResponseDrain();
  }

  onEncoderEnd(): void {
    this.#user.onResponseSent(this.#trailers);
  }

  onEncoderFailed(): void {
    this.#user.onResponseBroken();
  }

  // --- steps --------------------------------------------------------------------------------------

  #sendHead(status: number, reason: string, lines: string, framing: number, encoding: CompiledEncoding | null): void {
    this.begun = true;
    if (encoding !== null) {
      this.#flushes = isUnsized(framing);
      if (!this.#openEncoder(encoding)) return;
    }
    this.#client.sendHead(status, reason, lines, encoding === null ? framing : BODY_CHUNKED);
  }

  #openEncoder({ format }: CompiledEncoding): boolean {
    try {
      this.#encoder = new BodyEncoder(format, this);
      return true;
    } catch {
      // zlib has no memory left for it.
      this.#user.onResponseBroken();
      return false;
    }
  }

  #hold(held: HeldResponse, buffer: Buffer, start: number, end: number): boolean {
    held.body.add(buffer, start, end);
    return held.body.overflows ? this.#release(held) : true;
  }

  #release(held: HeldResponse): boolean {
    this.#held = null;
    this.#sendHead(held.status, held.reason, held.lines, held.framing, held.encoding);
    let open = true;
    for (const block of held.body.take()) open = this.#pass(block, 0, block.length);
    return open;
  }

  #pass(buffer: Buffer, start: number, end: number): boolean {
    // An empty write would end nothing, but it is a piece of work for the encoder.
    if (start === end) return true;
    if (this.#encoder !== null) return this.#encoder.write(Buffer.from(buffer.subarray(start, end)));
    this.sentBytes += end - start;
    return this.#client.sendBody(buffer, start, end, false);
  }
}
