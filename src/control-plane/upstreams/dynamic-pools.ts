import { isIP } from 'node:net';
import type { Clock } from '../../shared/clock.ts';
import type { MemberSpec } from '../compile/compiled.ts';
import { readUpstream } from '../compile/upstream-address.ts';
import type { Names } from '../names/resolver.ts';
import type { Sources, WatchedSource } from '../names/sources.ts';
import { membersChanged, type Happening } from './events.ts';
import type { Pool } from './pool.ts';
import type { Pools } from './pools.ts';

/** New names of a running pool are waited for this long before its members change. */
const NAME_WAIT_MS = 2000;
/** Members of a pool that come from DNS; what an answer holds beyond them is left out. */
export const MAX_FOUND = 1024;

/** A member as a source tells of it, and who is asked for its name. */
export interface FoundMember {
  readonly spec: MemberSpec;
  readonly resolvers: readonly string[];
}

export interface DynamicPoolsDeps {
  readonly clock: Clock;
  readonly pools: Pools;
  readonly names: Names;
  readonly sources: Sources;
  isActive(pool: Pool): boolean;
  /** The pool has other members now. */
  onMembers(pool: Pool): void;
  /** Members that are gone let go of their addresses. */
  onRelease(): void;
  onEvent(happening: Happening): void;
}

/** Pools whose members are found in DNS: which sources they have, and what follows when those change. */
export class DynamicPools {
  readonly #deps: DynamicPoolsDeps;
  readonly #held: Map<Pool, readonly WatchedSource[]> = new Map();

  constructor(deps: DynamicPoolsDeps) {
    this.#deps = deps;
  }

  /** Takes up the sources of a pool that has some; a pool known already is left as it is. */
  hold(pool: Pool): void {
    const { sources } = pool.spec;
    if (sources === undefined || this.#held.has(pool)) return;
    this.#held.set(
      pool,
      sources.map((spec) => this.#deps.sources.hold(spec)),
    );
  }

  /** The pool is nobody's any more. */
  release(pool: Pool): void {
    for (const source of this.#held.get(pool) ?? []) this.#deps.sources.release(source);
    this.#held.delete(pool);
  }

  /** Asks the sources that were never asked; for those of `pools` that are dynamic. Gives each pool what is known. */
  async find(pools: readonly Pool[], patienceMs: number): Promise<void> {
    const dynamic = pools.filter((pool) => this.#held.has(pool));
    const silent = new Set(dynamic.flatMap((pool) => this.#held.get(pool) ?? []).filter(({ watch }) => watch.lapsed));
    if (silent.size > 0) {
      await this.#within(patienceMs, Promise.all([...silent].map(({ watch }) => watch.refresh())));
    }
    for (const pool of dynamic) this.#recast(pool);
  }

  /** Of the pools in force: their sources are kept fresh, and no others. */
  start(): void {
    const wanted = new Set<WatchedSource>();
    for (const [pool, sources] of this.#held) {
      if (!this.#deps.isActive(pool)) continue;
      for (const source of sources) wanted.add(source);
      this.#startNames(pool);
    }
    this.#deps.sources.stopOthers(wanted);
    for (const { watch } of wanted) watch.start();
  }

  /** A member of the pool could not be connected to: perhaps it is gone. */
  hurry(pool: Pool): void {
    for (const { watch } of this.#held.get(pool) ?? []) watch.hurry();
  }

  /** The source says something else. */
  changed(source: WatchedSource): void {
    for (const [pool, sources] of this.#held) if (sources.includes(source)) void this.#update(pool);
  }

  /**
   * Names that are new are resolved before the members change: otherwise a pool whose targets are all new
   * would stand without an address until they are.
   */
  async #update(pool: Pool): Promise<void> {
    const { names } = this.#deps;
    const held = this.#wanted(pool)
      .filter(({ spec }) => isIP(spec.host) === 0)
      .map(({ spec, resolvers }) => names.hold(spec.host, resolvers));
    if (held.length > 0) await this.#within(NAME_WAIT_MS, names.settle(held));
    if (this.#held.has(pool)) this.#recast(pool);
    for (const name of held) names.release(name);
  }

  #recast(pool: Pool): void {
    const { pools, onMembers, onRelease, onEvent } = this.#deps;
    const before = pool.members.map(({ spec }) => spec.upstream);
    const after = this.#wanted(pool);
    if (JSON.stringify(pool.members.map(({ spec }) => spec)) === JSON.stringify(after.map(({ spec }) => spec))) return;
    pools.recast(pool, after, () => onMembers(pool));
    onRelease();
    const active = this.#deps.isActive(pool);
    if (active) this.#startNames(pool);
    if (active || before.length > 0) onEvent(membersChanged(pool, before));
  }

  #startNames(pool: Pool): void {
    for (const { name } of pool.members) this.#deps.names.start(name);
  }

  /** What the pool is to consist of: without duplicates, each source sorted, sources in configured order. */
  #wanted(pool: Pool): FoundMember[] {
    const sources = this.#held.get(pool) ?? [];
    const fallback = pool.spec.members;
    const speaking = sources.filter(({ watch }) => !watch.lapsed);
    if (speaking.length === 0 && fallback.length > 0) {
      return fallback.map((spec) => ({ spec, resolvers: pool.spec.resolvers }));
    }
    const found = new Map<string, FoundMember>();
    // Without a fallback list an old answer is better than none.
    for (const { spec, watch } of fallback.length > 0 ? speaking : sources) {
      for (const text of watch.upstreams) {
        const address = readUpstream(text);
        if ('member' in address) found.set(text, { spec: address.member, resolvers: spec.resolvers });
      }
    }
    return [...found.values()].slice(0, MAX_FOUND);
  }

  async #within(patienceMs: number, work: Promise<unknown>): Promise<void> {
    await new Promise<void>((resolve) => {
      const patience = this.#deps.clock.after(patienceMs, resolve);
      void work.then(() => {
        patience.cancel();
        resolve();
      });
    });
  }
}
