/** Events that wait for a client who reads slowly. Beyond that the oldest go, and it is told how many. */
const MAX_WAITING = 1024;
/** A comment line this often keeps proxies from taking the stream for dead, and finds clients that are gone. */
const HEARTBEAT_MS = 15_000;

/** One event as it is shown. `data` becomes one line of JSON. */
export interface ShownEvent {
  readonly event: string;
  readonly data: unknown;
}

/**
 * One client of `GET /events` (WHATWG HTML section 9.2, server-sent events). Listening begins with the object, so
 * nothing that happens before the first piece is asked for gets lost.
 */
export class EventStream<T> {
  readonly #waiting: ShownEvent[] = [];
  readonly #unsubscribe: () => void;
  #dropped = 0;
  #closed = false;
  #wake: () => void = () => undefined;

  constructor(subscribe: (listener: (event: T) => void) => () => void, show: (event: T) => ShownEvent) {
    this.#unsubscribe = subscribe((event) => this.#take(show(event)));
  }

  /** Ends the pieces. May be called more than once. */
  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    this.#wake();
  }

  async *pieces(): AsyncGenerator<string, undefined> {
    try {
      // Headers leave with the first bytes: a client wants to know at once that it is connected.
      yield ': holdfast\n\n';
      while (!this.#closed) {
        const piece = this.#takeWaiting();
        if (piece !== '') yield piece;
        else if (!(await this.#happens())) yield ':\n\n';
      }
    } finally {
      this.close();
    }
    return undefined;
  }

  #take(event: ShownEvent): void {
    this.#waiting.push(event);
    if (this.#waiting.length > MAX_WAITING) {
      this.#waiting.shift();
      this.#dropped += 1;
    }
    this.#wake();
  }

  #takeWaiting(): string {
    const lost = this.#dropped === 0 ? '' : eventText({ event: 'dropped', data: { count: this.#dropped } });
    this.#dropped = 0;
    return lost + this.#waiting.splice(0).map(eventText).join('');
  }

  /** Waits for an event or the end; false when neither came for a while. */
  async #happens(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#wake = () => resolve(true);
    const timer = setTimeout(() => resolve(false), HEARTBEAT_MS);
    timer.unref();
    const happened = await promise;
    clearTimeout(timer);
    return happened;
  }
}

function eventText({ event, data }: ShownEvent): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
