/** How the body of a request is framed, while an upstream is asked that gets none: what is asked next gets it. */
import type { Head } from '../http1/head.ts';

export class HeldBody {
  /** The client has sent all of it. */
  complete: boolean;
  readonly #body: number;
  readonly #contentLength: number;
  readonly #expectContinue: boolean;

  constructor(head: Head, complete: boolean) {
    this.complete = complete;
    this.#body = head.body;
    this.#contentLength = head.contentLength;
    this.#expectContinue = head.expectContinue;
  }

  restore(head: Head): void {
    head.body = this.#body;
    head.contentLength = this.#contentLength;
    head.expectContinue = this.#expectContinue;
  }
}
