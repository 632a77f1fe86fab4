/** Access lines, handed over in batches by sink. */
import type { Clock, Timer } from '../shared/clock.ts';
import type { AccessOutput, AccessSink } from '../shared/plan/types.ts';
import { compileLineWriter, type LineWriter } from './access-format.ts';
import type { Affinity } from './select/policy.ts';
import type { TlsFacts } from './route/tls-facts.ts';

const BATCH_BYTES = 65_536;
const FLUSH_MS = 100;

export interface AccessRecord {
  readonly wallMs: number;
  readonly client: string;
  readonly peer: string;
  readonly method: string;
  readonly host: string;
  readonly target: string;
  /** `HTTP/1.1`, `HTTP/2.0`, … */
  readonly proto: string;
  readonly status: number;
  readonly bytes: number;
  readonly durationMs: number;
  readonly upstream: string;
  readonly attempts: number;
  readonly affinity: Affinity;
  /** null = it came in the clear. */
  readonly tls: TlsFacts | null;
  /** Who was let in by `basic_auth`; ''. */
  readonly user: string;
  /** Of a head that was refused, the rule it breaks: a word of `http1/errors.ts`; ''. */
  readonly fault: string;
}

export class AccessLog {
  readonly #clock: Clock;
  readonly #sink: (sink: AccessSink, lines: string) => void;
  /** Made at the first line of an output, which lives as long as its plan. */
  readonly #writers = new WeakMap<AccessOutput, LineWriter>();
  readonly #batches = new Map<AccessSink, string>();
  #timer: Timer | null = null;

  constructor(clock: Clock, sink: (sink: AccessSink, lines: string) => void) {
    this.#clock = clock;
    this.#sink = sink;
  }

  write(output: AccessOutput, record: AccessRecord): void {
    const line = this.#writerOf(output)(record);
    if (line === '') return;
    const batch = (this.#batches.get(output.sink) ?? '') + line;
    this.#batches.set(output.sink, batch);
    if (batch.length >= BATCH_BYTES) this.flush();
    else this.#timer ??= this.#clock.after(FLUSH_MS, () => this.flush());
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const [sink, lines] of this.#batches) this.#sink(sink, lines);
    this.#batches.clear();
  }

  #writerOf(output: AccessOutput): LineWriter {
    let writer = this.#writers.get(output);
    if (writer === undefined) {
      writer = compileLineWriter(output, this.#clock);
      this.#writers.set(output, writer);
    }
    return writer;
  }
}
