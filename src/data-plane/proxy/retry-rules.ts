/** `lb_retry_match` at work: asks its matchers about a failed try or a response, and answers the placeholders they read. */
import type { Head } from '../http1/head.ts';
import type { RequestView } from '../route/request-view.ts';
import type { CompiledRetryMatch } from '../route/retry-match.ts';

/** What `{http.reverse_proxy.is_transport_error}` and `….header.*` are at the moment. */
export interface RetryFacts {
  readonly isTransportError: boolean;
  readonly responseHead: Head | null;
}

export const NO_RETRY_FACTS: RetryFacts = Object.freeze({ isTransportError: false, responseHead: null });

export class RetryRules implements RetryFacts {
  readonly #match: CompiledRetryMatch;
  isTransportError = false;
  responseHead: Head | null = null;

  constructor(match: CompiledRetryMatch) {
    this.#match = match;
  }

  /** Some set is about responses. */
  get readsResponses(): boolean {
    return this.#match.response !== null;
  }

  matchesFailure(request: RequestView): boolean {
    this.isTransportError = true;
    const isMatch = this.#match.failure(request);
    this.isTransportError = false;
    return isMatch;
  }

  matchesResponse(request: RequestView, head: Head): boolean {
    this.responseHead = head;
    const isMatch = this.#match.response?.(request) ?? false;
    this.responseHead = null;
    return isMatch;
  }
}
