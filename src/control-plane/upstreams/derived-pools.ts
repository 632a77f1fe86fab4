/** Pools whose upstreams requests name: which there are, how many, and for how long. */
import type { Clock, Timer } from '../../shared/clock.ts';
import type { DerivedResult } from '../../shared/messages.ts';
import type { PoolRows, SectionHash } from '../../shared/plan/types.ts';
import { derivePool } from '../compile/pattern.ts';
import type { PoolSpec } from '../compile/compiled.ts';
import type { Names, WatchedName } from '../names/resolver.ts';
import type { Pool } from './pool.ts';
import type { Pools } from './pools.ts';

/** Of one pattern; one more makes the one that was not used for the longest time give way. */
export const MAX_DERIVED = 256;
/** New ones a second, of all patterns: each costs rows, a name and probes, and clients choose how many they ask for. */
export const MAX_NEW_A_SECOND = 50;
/** A pool that no request uses is kept this long. */
export const UNUSED_MS = 600_000;
const LOOK_MS = 60_000;
/** A request waits two seconds in all. */
const NAME_WAIT_MS = 1500;

interface Derived {
  readonly key: string;
  readonly pattern: SectionHash;
  readonly pool: Pool;
  usedAt: number;
  /** Settles when its names were asked for. */
  ready: Promise<void>;
}

export interface DerivedPoolsDeps {
  readonly clock: Clock;
  readonly pools: Pools;
  readonly names: Names;
  isActive(pool: Pool): boolean;
  /** Resolves when the names are known, or were waited for long enough. */
  resolve(names: ReadonlySet<WatchedName>, patienceMs: number): Promise<void>;
  /** Workers may be told of its changes from now on. */
  onReady(pool: Pool): void;
  /** Workers are to use them no more. */
  onForget(pools: readonly SectionHash[]): void;
  /** Their members are to let go of what they hold. */
  onRelease(pools: readonly Pool[]): void;
}

interface Refused {
  readonly outcome: 'none' | 'busy';
}

export class DerivedPools {
  readonly #deps: DerivedPoolsDeps;
  /** By pattern and addresses, the one used last behind. */
  readonly #known = new Map<string, Derived>();
  #look: Timer | null = null;
  #secondBegan = -Infinity;
  #newInSecond = 0;

  constructor(deps: DerivedPoolsDeps) {
    this.#deps = deps;
  }

  /** A worker uses it still. */
  touch(pattern: SectionHash, addresses: readonly string[]): void {
    const known = this.#known.get(keyOf(pattern, addresses));
    if (known !== undefined) this.#use(known);
  }

  async derive(pattern: SectionHash, addresses: readonly string[]): Promise<DerivedResult> {
    const key = keyOf(pattern, addresses);
    const known = this.#known.get(key) ?? this.#make(key, pattern, addresses);
    if ('outcome' in known) return known;
    this.#use(known);
    await known.ready;
    const { pool } = known;
    // It may have given way meanwhile.
    if (this.#known.get(key) !== known) return { outcome: 'busy' };
    return { outcome: 'pool', section: pool.spec.section, rows: pool.rows(0, Infinity) };
  }

  /** Of the derived pool with this hash; null = there is none. */
  rows(hash: SectionHash): PoolRows | null {
    const pool = this.#deps.pools.get(hash);
    return pool?.spec.derivedFrom === undefined ? null : pool.rows(0, Infinity);
  }

  /** The pools of a generation that is prepared: those derived from them are its own too. */
  join(generation: number, pools: readonly Pool[]): void {
    const patterns = new Set(pools.filter(({ spec }) => spec.pattern !== undefined).map(({ spec }) => spec.hash));
    if (patterns.size === 0) return;
    for (const { pattern, pool } of this.#known.values()) if (patterns.has(pattern)) pool.generations.add(generation);
  }

  /** No generation names these pools any more; some of them may have been derived. */
  forget(pools: readonly Pool[]): void {
    const gone = [...this.#known.values()].filter(({ pool }) => pools.includes(pool));
    for (const { key } of gone) this.#known.delete(key);
    if (gone.length > 0) this.#deps.onForget(gone.map(({ pool }) => pool.spec.hash));
  }

  stop(): void {
    this.#look?.cancel();
    this.#look = null;
  }

  #use(derived: Derived): void {
    derived.usedAt = this.#deps.clock.now();
    this.#known.delete(derived.key);
    this.#known.set(derived.key, derived);
  }

  #make(key: string, pattern: SectionHash, addresses: readonly string[]): Derived | Refused {
    const model = this.#deps.pools.get(pattern);
    if (model === undefined) return { outcome: 'busy' };
    const spec = derivePool(model.spec, addresses);
    if (typeof spec === 'string') return { outcome: 'none' };
    if (!this.#mayMake()) return { outcome: 'busy' };
    const pool = this.#hold(spec, model);
    const ready = this.#settle(pool);
    const derived: Derived = { key, pattern, pool, usedAt: this.#deps.clock.now(), ready };
    this.#known.set(key, derived);
    this.#makeRoom(pattern);
    this.#look ??= this.#deps.clock.after(LOOK_MS, () => this.#expire());
    return derived;
  }

  #hold(spec: PoolSpec, model: Pool): Pool {
    const { pools } = this.#deps;
    const [first, ...others] = model.generations;
    const pool = pools.hold(spec, first!);
    for (const generation of others) pools.hold(spec, generation);
    for (let more = pools.join(pool); more; more = pools.join(pool));
    return pool;
  }

  async #settle(pool: Pool): Promise<void> {
    const { pools, names } = this.#deps;
    if (this.#deps.isActive(pool)) for (const { name } of pool.members) names.start(name);
    await this.#deps.resolve(new Set(pool.members.map(({ name }) => name)), NAME_WAIT_MS);
    if (pools.get(pool.spec.hash) !== pool) return;
    this.#deps.onReady(pool);
    for (const member of pool.members) pools.place(member);
  }

  #mayMake(): boolean {
    const now = this.#deps.clock.now();
    if (now - this.#secondBegan >= 1000) {
      this.#secondBegan = now;
      this.#newInSecond = 0;
    }
    this.#newInSecond += 1;
    return this.#newInSecond <= MAX_NEW_A_SECOND;
  }

  #makeRoom(pattern: SectionHash): void {
    const siblings = [...this.#known.values()].filter((derived) => derived.pattern === pattern);
    this.#drop(siblings.slice(0, Math.max(0, siblings.length - MAX_DERIVED)));
  }

  #expire(): void {
    const before = this.#deps.clock.now() - UNUSED_MS;
    this.#drop([...this.#known.values()].filter(({ usedAt }) => usedAt <= before));
    this.#look = this.#known.size === 0 ? null : this.#deps.clock.after(LOOK_MS, () => this.#expire());
  }

  #drop(derived: readonly Derived[]): void {
    if (derived.length === 0) return;
    for (const { key, pool } of derived) {
      this.#known.delete(key);
      this.#deps.pools.abandon(pool);
    }
    this.#deps.onForget(derived.map(({ pool }) => pool.spec.hash));
    this.#deps.onRelease(derived.map(({ pool }) => pool));
  }
}

function keyOf(pattern: SectionHash, addresses: readonly string[]): string {
  return [pattern, ...addresses].join(' ');
}
