import type { IpAddress } from '../../shared/net/ip.ts';
import { NO, type Answer } from './answer.ts';
import { readClientHello, type ClientHello } from './match/client-hello.ts';

/** A connection as its matchers see it: who, and the first bytes. */
export class FlowView {
  client: IpAddress | null;
  /** What the client has sent so far, of a datagram all. */
  bytes: Buffer;
  /** No more bytes can be waited for. */
  final: boolean;
  #helloOf: Buffer | null = null;
  #hello: ClientHello | Answer = NO;

  constructor(client: IpAddress | null, bytes: Buffer, final: boolean) {
    this.client = client;
    this.bytes = bytes;
    this.final = final;
  }

  /** The ClientHello that the bytes begin with; NO = they are something else. Read once for the same bytes. */
  get hello(): ClientHello | Answer {
    if (this.#helloOf !== this.bytes) {
      this.#helloOf = this.bytes;
      this.#hello = readClientHello(this.bytes);
    }
    return this.#hello;
  }
}

export type FlowMatcher = (view: FlowView) => Answer;
