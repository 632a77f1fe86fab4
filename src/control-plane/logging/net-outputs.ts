/** The receivers of a config, by sink. */
import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/log.ts';
import type { AccessSink } from '../../shared/plan/types.ts';
import type { LogNetSpec } from '../compile/compiled.ts';
import { NetOutput } from './net-output.ts';

export class NetOutputs {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #outputs = new Map<AccessSink, NetOutput>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Connections that are there already stay. Rejects, and changes nothing, when a receiver cannot be reached. */
  async open(specs: readonly LogNetSpec[]): Promise<void> {
    const wanted = specs.filter((spec) => JSON.stringify(this.#outputs.get(spec.sink)?.spec) !== JSON.stringify(spec));
    const made = wanted.map((spec) => new NetOutput(spec, this.#log, this.#clock));
    try {
      await Promise.all(made.map((output) => output.start()));
    } catch (error) {
      for (const output of made) output.destroy();
      throw error;
    }
    for (const output of made) {
      void this.#outputs.get(output.spec.sink)?.end();
      this.#outputs.set(output.spec.sink, output);
    }
  }

  /** After `lingerMs` those that `specs` do not name are closed. */
  retain(specs: readonly LogNetSpec[], lingerMs: number): void {
    const named = new Set(specs.map(({ sink }) => sink));
    const left = [...this.#outputs.values()].filter(({ spec }) => !named.has(spec.sink));
    if (left.length === 0) return;
    this.#clock.after(lingerMs, () => {
      for (const output of left) {
        if (this.#outputs.get(output.spec.sink) !== output) continue;
        this.#outputs.delete(output.spec.sink);
        void output.end();
      }
    });
  }

  write(lines: string, sink: AccessSink): void {
    this.#outputs.get(sink)?.write(lines);
  }

  /** Resolves when all lines are sent. */
  async end(): Promise<void> {
    await Promise.all([...this.#outputs.values()].map((output) => output.end()));
  }

  destroy(): void {
    for (const output of this.#outputs.values()) output.destroy();
    this.#outputs.clear();
  }
}
