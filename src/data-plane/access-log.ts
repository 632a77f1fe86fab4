/**
 * Access lines: one JSON object a request, made by concatenation and handed over in batches, because
 * a structured logger costs ten times as much a line.
 */
import type { Clock, Timer } from '../shared/clock.ts';
import type { Affinity } from './select/policy.ts';

const BATCH_BYTES = 65_536;
const FLUSH_MS = 100;

export interface AccessRecord {
  readonly wallMs: number;
  readonly client: string;
  readonly peer: string;
  readonly method: string;
  readonly host: string;
  readonly target: string;
  readonly status: number;
  readonly bytes: number;
  readonly durationMs: number;
  readonly upstream: string;
  readonly attempts: number;
  readonly affinity: Affinity;
}

export class AccessLog {
  readonly #clock: Clock;
  readonly #sink: (lines: string) => void;
  #batch = '';
  #timer: Timer | null = null;

  constructor(clock: Clock, sink: (lines: string) => void) {
    this.#clock = clock;
    this.#sink = sink;
  }

  write(record: AccessRecord): void {
    this.#batch += accessLine(record);
    if (this.#batch.length >= BATCH_BYTES) this.flush();
    else this.#timer ??= this.#clock.after(FLUSH_MS, () => this.flush());
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#batch === '') return;
    const lines = this.#batch;
    this.#batch = '';
    this.#sink(lines);
  }
}

export function accessLine(record: AccessRecord): string {
  return (
    `{"time":"${new Date(record.wallMs).toISOString()}","client":"${record.client}","peer":"${record.peer}",` +
    `"method":${JSON.stringify(record.method)},"host":${JSON.stringify(record.host)},"target":${JSON.stringify(record.target)},` +
    `"status":${record.status},"bytes":${record.bytes},"duration_ms":${record.durationMs.toFixed(3)},` +
    `"upstream":${JSON.stringify(record.upstream)},"attempts":${record.attempts},"affinity":"${record.affinity}"}\n`
  );
}
