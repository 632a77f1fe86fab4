import type { CompiledConfig, PoolSpec } from '../control-plane/compile/compiled.ts';
import { derivePool } from '../control-plane/compile/pattern.ts';
import { idlePool, type TrialPool } from '../control-plane/explain/trial-pool.ts';
import { slotAddress } from '../control-plane/upstreams/slots.ts';
import type { SectionHash } from '../shared/plan/types.ts';
import { CliError } from './failure.ts';

/** A config as it would run with some servers down and all others well. */
export class PlannedConfig {
  readonly #specs: ReadonlyMap<SectionHash, PoolSpec>;
  readonly #down: ReadonlySet<string>;

  /** `down`: configured texts or `host:port`s. One that no pool has is a usage error. */
  constructor(compiled: CompiledConfig, down: readonly string[]) {
    this.#specs = new Map(compiled.pools.map((spec) => [spec.hash, spec]));
    this.#down = new Set(down);
    const known = new Set(compiled.pools.flatMap((spec) => spec.members.flatMap(namesOf)));
    const stranger = down.find((name) => !known.has(name));
    if (stranger !== undefined) throw new CliError(`--down ${stranger}: the config has no such upstream`, 2);
  }

  get pools(): readonly PoolSpec[] {
    return [...this.#specs.values()];
  }

  isDown(member: PoolSpec['members'][number]): boolean {
    return namesOf(member).some((name) => this.#down.has(name));
  }

  pool(hash: SectionHash): TrialPool {
    const spec = this.#specs.get(hash);
    if (spec === undefined) throw new Error(`a site names a pool that is not there: ${hash}`);
    return idlePool(spec, (member) => this.isDown(member));
  }

  /** Of upstreams that a request names; null = these are no addresses. */
  derived(pattern: SectionHash, addresses: readonly string[]): TrialPool | null {
    const spec = this.#specs.get(pattern);
    const made = spec === undefined ? '' : derivePool(spec, addresses);
    return typeof made === 'string' ? null : idlePool(made, (member) => this.isDown(member));
  }
}

function namesOf({ upstream, identity, host, port, network }: PoolSpec['members'][number]): string[] {
  return [upstream, identity, slotAddress(host, port, network)];
}
