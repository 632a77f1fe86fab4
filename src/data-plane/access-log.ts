/**
 * Access lines: one JSON object a request, made by concatenation and handed over in batches, because
 * a structured logger costs ten times as much a line.
 */
import type { Clock, Timer } from '../shared/clock.ts';
import type { AccessOutput } from '../shared/plan/types.ts';
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
  readonly #sink: (output: AccessOutput, lines: string) => void;
  readonly #batches: Record<AccessOutput, string> = { stderr: '', stdout: '' };
  #timer: Timer | null = null;

  constructor(clock: Clock, sink: (output: AccessOutput, lines: string) => void) {
    this.#clock = clock;
    this.#sink = sink;
  }

  write(output: AccessOutput, record: AccessRecord): void {
    this.#batches[output] += accessLine(record);
    if (this.#batches[output].length >= BATCH_BYTES) this.flush();
    else this.#timer ??= this.#clock.after(FLUSH_MS, () => this.flush());
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const output of ['stderr', 'stdout'] as const) {
      const lines = this.#batches[output];
      this.#batches[output] = '';
      if (lines !== '') this.#sink(output, lines);
    }
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
