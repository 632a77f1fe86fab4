import type { Clock } from '../../shared/clock.ts';
import type { MemberRows, PoolRows, SectionHash } from '../../shared/plan/types.ts';
import type { Random } from '../../shared/random.ts';
import { FACT_DIAL_FAILURES } from '../../shared/state-table/layout.ts';
import type { StateTable, TableChunk } from '../../shared/state-table/table.ts';
import type { CheckSpec, CompiledConfig, PoolSpec } from '../compile/compiled.ts';
import { checkProbe } from '../health/check-probe.ts';
import { Checks, type RunningCheck } from '../health/checks.ts';
import { PingEcho } from '../health/echo.ts';
import type { Probe } from '../health/probe.ts';
import { TlsContexts } from '../health/tls-contexts.ts';
import { firstVerdict, type VerdictState } from '../health/verdict.ts';
import { lookupName, type Lookup } from '../names/lookup.ts';
import { Names, type WatchedName } from '../names/resolver.ts';
import { Sources } from '../names/sources.ts';
import { lookupSrv, type SrvLookup } from '../names/srv.ts';
import type { ControlEvent, UpstreamPatch, UpstreamStatus } from '../types.ts';
import type { AdminSnapshot, EffectiveAdmin } from './admin-states.ts';
import { DrainWatch } from './drain-watch.ts';
import type { Drain } from './drains.ts';
import { DerivedPools } from './derived-pools.ts';
import { DynamicPools } from './dynamic-pools.ts';
import {
  bestEffortChanged,
  nameChanged,
  nameFailed,
  recovered,
  sourceFailed,
  struck,
  verdictChanged,
  type Happening,
} from './events.ts';
import { Operator } from './operator.ts';
import { memberRows, type Member, type Pool } from './pool.ts';
import { PassiveStrikes } from './passive.ts';
import { Pools } from './pools.ts';
import { Registry } from './registry.ts';
import { ServerRows } from './server-rows.ts';
import { Slice } from './slice.ts';
import { SlowStarts } from './slow-start.ts';
import type { Slot } from './slots.ts';
import { memberStatus } from './status.ts';

/** A load waits this long for names; what resolves later joins later. */
const NAME_WAIT_MS = 2000;

export interface UpstreamsDeps {
  readonly table: StateTable;
  readonly clock: Clock;
  readonly random: Random;
  /** A new chunk: send it to every worker before anything else. */
  onChunk(chunk: TableChunk): void;
  /** A member of a pool that `prepare` has handed out lives at other addresses now. */
  onEndpoints(pool: SectionHash, member: number, rows: MemberRows): void;
  /** A pool found in DNS that `prepare` has handed out has other members, or a member of it other addresses. */
  onMembers(pool: SectionHash, rows: PoolRows): void;
  /** Pools that `derive` has handed out are over. */
  onForgetDerived(pools: readonly SectionHash[]): void;
  /** Nobody names these slots any more: their idle connections are to be closed. */
  onForget(slots: readonly number[]): void;
  /** A drain deadline passed: what still runs on these slots is to be ended. */
  onCut(slots: readonly number[]): void;
  /** The `drain` of a pool ends what runs for it on these slots. */
  onCutPool(pool: SectionHash, slots: readonly number[], how: 'finish' | 'reset'): void;
  onEvent(event: ControlEvent): void;
  /** Default: `lookupName`. */
  readonly lookup?: Lookup;
  /** Default: `lookupSrv`. */
  readonly lookupSrv?: SrvLookup;
  /** The probe of a check. Default: the one of its kind. */
  readonly probeOf?: (spec: CheckSpec) => Probe;
  /** Probes running at the same time. Default 64. */
  readonly concurrency?: number;
}

/** Rows of pools are asked for with `currentRows` when they are sent: names may move meanwhile. */
export interface PreparedRows {
  /** Server name → row. */
  readonly serverRows: ReadonlyMap<string, number>;
  readonly layer4Rows: ReadonlyMap<string, number>;
}

/** Everything about servers that clients are sent to: where they are, whether they live, who may use them. */
export class Upstreams {
  readonly #deps: UpstreamsDeps;
  readonly #registry: Registry;
  readonly #names: Names;
  readonly #sources: Sources;
  readonly #dynamic: DynamicPools;
  /** Pools whose upstreams requests name. */
  readonly derived: DerivedPools;
  readonly #checks: Checks;
  readonly #pools: Pools;
  readonly #slowStarts: SlowStarts;
  readonly #servers: ServerRows;
  /** Names of layer-4 servers are names of their own. */
  readonly #layer4: ServerRows;
  readonly #operator: Operator;
  readonly #passive: PassiveStrikes;
  readonly #drains: DrainWatch;
  /** Pools whose rows went to workers: from then on they are told of changes. */
  readonly #handedOut: WeakSet<Pool> = new WeakSet();
  /** Generation → its `nameRefreshMs`. */
  readonly #generations: Map<number, number | null> = new Map();
  /** Slots nobody names any more, not told yet. */
  #forgotten: number[] = [];
  /** The generation in force; null until the first. */
  #active: number | null = null;

  constructor(deps: UpstreamsDeps) {
    this.#deps = deps;
    const { table, clock, random } = deps;
    this.#operator = new Operator({
      table,
      clock,
      pools: () => this.#pools,
      findSlot: (address) => this.#registry.slots.find(address),
      onCut: (slots) => deps.onCut(slots),
      onEvent: (happening) => this.#tell(happening),
    });
    this.#registry = new Registry({
      table,
      clock,
      onChunk: deps.onChunk,
      onForget: (slot) => void this.#forgotten.push(slot.row),
    });
    this.#servers = new ServerRows(this.#registry.servers);
    this.#layer4 = new ServerRows(this.#registry.servers);
    this.#names = new Names({
      clock,
      lookup: deps.lookup ?? lookupName,
      onChange: (name, before, after, recovered) => {
        if (before.length > 0 || recovered) this.#tell(nameChanged(name, before, after));
        for (const member of this.#pools.membersNamed(name)) this.#pools.place(member);
        this.#tellForgotten();
      },
      onFailure: (name, error) => this.#tell(nameFailed(name, error)),
    });
    const environment = { random, echo: new PingEcho(clock), tls: new TlsContexts() };
    this.#checks = new Checks({
      clock,
      random,
      rows: {
        rows: table.checks,
        take: () => this.#registry.checks.take(),
        give: (row) => this.#registry.checks.give(row),
      },
      refusals: (slot) => table.sumFactTotals(slot, FACT_DIAL_FAILURES),
      probeOf: deps.probeOf ?? ((spec) => checkProbe(spec, environment)),
      ...(deps.concurrency === undefined ? {} : { concurrency: deps.concurrency }),
      onTransition: (check, transition) => {
        this.#tell(verdictChanged(check, transition));
        const slot = this.#registry.slots.at(check.subject.slot);
        if (slot !== undefined) this.#pools.refreshAt(slot);
      },
    });
    this.#passive = new PassiveStrikes({
      table,
      clock,
      refresh: (member) => this.#pools.refresh(member.pool, [member]),
      onStruck: (member, fails) => this.#tell(struck(member, fails)),
      onRecovered: (member) => this.#tell(recovered(member)),
    });
    this.#drains = new DrainWatch({
      table,
      clock,
      pools: () => this.#pools,
      active: () => this.#active,
      adminOf: (slot) => this.#operator.adminOf(slot),
      cut: (pool, slots, how) => deps.onCutPool(pool, slots, how),
      onEvent: (happening) => this.#tell(happening),
    });
    this.#slowStarts = new SlowStarts(clock, (member) => this.#pools.refresh(member.pool, [member]));
    this.#pools = new Pools({
      table,
      registry: this.#registry,
      names: this.#names,
      checks: this.#checks,
      begin: (slot, member) => this.#begin(slot, member),
      adminOf: (slot) => this.#operator.openness(slot),
      weightOf: (member) => this.#operator.weightOf(member),
      slowStarts: this.#slowStarts,
      onBestEffort: (pool) => this.#tell(bestEffortChanged(pool)),
      passiveOf: (member) => this.#passive.standing(member),
      onDrop: (member) => {
        this.#passive.forget(member);
        this.#slowStarts.drop(member);
      },
      onMembership: (slot) => this.#operator.write(slot),
      onEndpoints: (member) => this.#announce(member),
      isDrained: (member, slot) => this.#drains.isOver(member, slot),
      onStanding: (members) => this.#drains.review(members),
      onLeft: (member, slot) => this.#drains.dropped(member, slot),
    });
    this.#sources = new Sources({
      clock,
      lookup: (host, resolvers) => this.#names.ask(host, resolvers),
      lookupSrv: deps.lookupSrv ?? lookupSrv,
      onChange: (source) => this.#dynamic.changed(source),
      onFailure: (source, error) => this.#tell(sourceFailed(source, error)),
    });
    this.#dynamic = new DynamicPools({
      clock,
      pools: this.#pools,
      names: this.#names,
      sources: this.#sources,
      isActive: (pool) => this.#isActive(pool),
      onMembers: (pool) => this.#announcePool(pool),
      onRelease: () => this.#tellForgotten(),
      onEvent: (happening) => this.#tell(happening),
    });
    this.derived = new DerivedPools({
      clock,
      pools: this.#pools,
      names: this.#names,
      isActive: (pool) => this.#isActive(pool),
      resolve: (names, patienceMs) => this.#resolve(names, patienceMs),
      onReady: (pool) => void this.#handedOut.add(pool),
      onForget: (pools) => deps.onForgetDerived(pools),
      onRelease: (pools) => void this.#drop(pools),
    });
  }

  /**
   * Reserves rows and resolves names, for at most two seconds; a name without an answer leaves its
   * member down. Nothing is probed before `activate`. A throw leaves nothing behind.
   */
  async prepare(generation: number, compiled: CompiledConfig): Promise<PreparedRows> {
    this.#generations.set(generation, compiled.nameRefreshMs);
    try {
      for (const { name } of compiled.servers) this.#servers.hold(name, generation);
      for (const { name } of compiled.layer4) this.#layer4.hold(name, generation);
      const slice = new Slice(this.#deps.clock);
      const pools = await this.#hold(compiled.pools, generation, slice);
      this.derived.join(generation, pools);
      await this.#dynamic.find(pools, NAME_WAIT_MS);
      this.#assertWanted(generation);
      await this.#resolve(await this.#unresolved(pools, slice));
      await this.#place(pools, generation, slice);
      for (const pool of pools) this.#handedOut.add(pool);
      return { serverRows: this.#servers.of(generation), layer4Rows: this.#layer4.of(generation) };
    } catch (error) {
      this.discard(generation);
      throw error;
    }
  }

  /** The generation is in force: its servers are probed and its names kept fresh, and no others. */
  activate(generation: number): void {
    const before = this.#active;
    this.#active = generation;
    const pools = [...this.#pools.of(generation)];
    this.#drains.reloaded(new Set(pools.filter((pool) => before === null || !pool.generations.has(before))));
    this.#names.setRefresh(this.#generations.get(generation) ?? null);
    void this.#startActive(generation);
  }

  /** The generation will not come into force. */
  discard(generation: number): void {
    this.#forget(generation);
  }

  /** No worker runs anything of the generation any more. */
  release(generation: number): void {
    this.#forget(generation);
  }

  /** Rows of a pool and of its members `from` to before `to` (default: all) as they are now, for a worker that gets them now. */
  currentRows(hash: SectionHash, from: number = 0, to: number = Infinity): PoolRows {
    const pool = this.#pools.get(hash);
    if (pool === undefined) throw new Error(`no generation names pool ${hash}`);
    return pool.rows(from, to);
  }

  /** Rows of a new worker's lane. They are in `table.chunks` then; the other workers must be sent them. */
  addLane(lane: number): readonly TableChunk[] {
    return this.#registry.addLane(lane);
  }

  /** Every member of every pool of the generation in force, and those that were removed and still run something. */
  status(): readonly UpstreamStatus[] {
    return [...this.#shownMembers()].map((member) => this.#statusOf(member));
  }

  /** As `status`, with pauses for other work; ends early when another generation comes into force. */
  async *eachStatus(): AsyncGenerator<UpstreamStatus> {
    const slice = new Slice(this.#deps.clock);
    const generation = this.#active;
    for (const member of this.#shownMembers()) {
      yield this.#statusOf(member);
      if (slice.used) await slice.next();
      if (this.#active !== generation) return;
    }
  }

  /** Name → row of the HTTP servers of the generation in force. */
  serverRows(): ReadonlyMap<string, number> {
    return this.#active === null ? new Map() : this.#servers.of(this.#active);
  }

  /** As `serverRows`, of layer 4. */
  layer4Rows(): ReadonlyMap<string, number> {
    return this.#active === null ? new Map() : this.#layer4.of(this.#active);
  }

  /** `ip:port` → row of every endpoint of the generation in force. */
  slotRows(): ReadonlyMap<string, number> {
    const endpoints = [...this.#activeMembers()].flatMap((member) => member.endpoints);
    return new Map(endpoints.map(({ slot }) => [slot.address, slot.row]));
  }

  /** Row of an `ip:port`; undefined when no generation names it. */
  slotRow(address: string): number | undefined {
    return this.#registry.slots.find(address)?.row;
  }

  /**
   * The operator's word about an `ip:port` or a configured upstream text, for all pools; false when no
   * generation names it. Throws RangeError for a weight or drain time that makes no sense.
   */
  patch(address: string, patch: UpstreamPatch): boolean {
    return this.#operator.patch(address, patch);
  }

  /** A worker could not connect to the slot: perhaps the name moved. */
  dialFailed(slot: number): void {
    const failed = this.#registry.slots.at(slot);
    if (failed === undefined) return;
    for (const member of this.#pools.membersAt(failed)) {
      this.#names.hurry(member.name);
      this.#dynamic.hurry(member.pool);
    }
  }

  /** A worker's traffic was refused there. For HTTP that is the business of retries and passive checks. */
  refused(slot: number): void {
    this.dialFailed(slot);
    const at = this.#registry.slots.at(slot);
    if (at === undefined) return;
    const told = new Set<RunningCheck>();
    for (const member of this.#pools.membersAt(at)) {
      if (member.pool.spec.layer === undefined || !this.#isActive(member.pool)) continue;
      for (const { slot: own, check } of member.endpoints) if (own === at && check !== null) told.add(check);
    }
    for (const check of told) this.#checks.refused(check);
  }

  /** What a worker saw of the member of this row. */
  passive(hash: SectionHash, row: number, outcome: 'failed' | 'passed', strike: number): void {
    const member = this.#pools.get(hash)?.members.find((one) => one.row === row);
    if (member !== undefined) this.#passive.report(member, outcome, strike);
  }

  /** What the operator said, as JSON. */
  adminStates(): AdminSnapshot {
    return this.#operator.states.snapshot();
  }

  /** Call it before the first `prepare`. */
  restoreAdminStates(snapshot: AdminSnapshot): void {
    this.#operator.states.restore(snapshot);
  }

  /** Stops probes, lookups and timers, for good. */
  stop(): void {
    this.#active = null;
    this.derived.stop();
    this.#checks.stop();
    this.#names.stop();
    this.#sources.stop();
    this.#operator.states.stop();
    this.#slowStarts.stop();
    this.#passive.stop();
    this.#drains.stop();
  }

  async #unresolved(pools: readonly Pool[], slice: Slice): Promise<ReadonlySet<WatchedName>> {
    const names = new Set<WatchedName>();
    for (const pool of pools) {
      for (const { name } of pool.present()) {
        if (name.addresses().length === 0) names.add(name);
        if (slice.used) await slice.next();
      }
    }
    return names;
  }

  async #resolve(names: ReadonlySet<WatchedName>, patienceMs: number = NAME_WAIT_MS): Promise<void> {
    await new Promise<void>((resolve) => {
      const patience = this.#deps.clock.after(patienceMs, resolve);
      void this.#names.settle(names).then(() => {
        patience.cancel();
        resolve();
      });
    });
  }

  async #hold(specs: readonly PoolSpec[], generation: number, slice: Slice): Promise<readonly Pool[]> {
    const pools: Pool[] = [];
    for (const spec of specs) {
      this.#assertWanted(generation);
      const pool = this.#pools.hold(spec, generation);
      pools.push(pool);
      this.#dynamic.hold(pool);
      while (this.#pools.join(pool)) {
        if (!slice.used) continue;
        await slice.next();
        this.#assertWanted(generation);
      }
    }
    return pools;
  }

  async #place(pools: readonly Pool[], generation: number, slice: Slice): Promise<void> {
    this.#assertWanted(generation);
    for (const pool of pools) {
      for (const member of pool.present()) {
        this.#pools.place(member);
        if (!slice.used) continue;
        await slice.next();
        this.#assertWanted(generation);
      }
    }
  }

  #assertWanted(generation: number): void {
    if (this.#generations.has(generation)) return;
    throw new Error(`generation ${generation} was discarded while it was prepared`);
  }

  /** Starts what the generation needs, then stops what only others needed: nothing both need is interrupted. */
  async #startActive(generation: number): Promise<void> {
    const slice = new Slice(this.#deps.clock);
    const names = new Set<WatchedName>();
    const checks = new Set<RunningCheck>();
    for (const member of this.#activeMembers()) {
      names.add(member.name);
      this.#names.start(member.name);
      for (const check of checksOf(member)) {
        checks.add(check);
        this.#checks.start(check);
      }
      if (slice.used) await slice.next();
      if (this.#active !== generation) return;
    }
    this.#names.stopOthers(names);
    this.#checks.stopOthers(checks);
    this.#dynamic.start();
  }

  #forget(generation: number): void {
    this.#generations.delete(generation);
    this.#servers.release(generation);
    this.#layer4.release(generation);
    const unnamed = this.#pools.release(generation);
    this.derived.forget(unnamed);
    void this.#drop(unnamed);
  }

  async #drop(pools: readonly Pool[]): Promise<void> {
    const slice = new Slice(this.#deps.clock);
    for (const pool of pools) this.#dynamic.release(pool);
    for (const pool of pools) {
      for (const member of pool.members) {
        this.#pools.drop(member);
        if (!slice.used) continue;
        this.#tellForgotten();
        await slice.next();
      }
    }
    this.#tellForgotten();
  }

  #tellForgotten(): void {
    const slots = this.#forgotten;
    if (slots.length === 0) return;
    this.#forgotten = [];
    this.#deps.onForget(slots);
  }

  *#activeMembers(): IterableIterator<Member> {
    if (this.#active === null) return;
    for (const pool of this.#pools.of(this.#active)) yield* pool.present();
  }

  *#shownMembers(): IterableIterator<Member> {
    yield* this.#activeMembers();
    yield* this.#drains.removed();
  }

  #statusOf(member: Member): UpstreamStatus {
    const adminOf = (slot: Slot): EffectiveAdmin => this.#operator.adminOf(slot);
    const drainOf = (slot: Slot): Drain | undefined => this.#drains.of(member, slot);
    return memberStatus(member, this.#deps.table, adminOf, drainOf, this.#deps.clock.wall());
  }

  #isActive(pool: Pool): boolean {
    return this.#active !== null && pool.generations.has(this.#active);
  }

  #announce(member: Member): void {
    const { pool } = member;
    // A member without a place yet is told of with the whole pool.
    if (pool.spec.sources !== undefined && member.position >= 0) this.#announcePool(pool);
    else if (pool.spec.sources === undefined && this.#handedOut.has(pool))
      this.#deps.onEndpoints(pool.spec.hash, member.position, memberRows(member));
    if (this.#isActive(pool)) for (const check of checksOf(member)) this.#checks.start(check);
  }

  #announcePool(pool: Pool): void {
    if (this.#handedOut.has(pool)) this.#deps.onMembers(pool.spec.hash, pool.rows(0, Infinity));
  }

  /** In service is a server under its name: an address that now belongs to another name has to prove itself. */
  #begin(slot: Slot, member: Member): VerdictState {
    const serving = [...this.#pools.membersAt(slot)].filter(
      (other) => other.spec.host === member.spec.host && this.#isActive(other.pool),
    );
    const opinions = serving.flatMap((other) => checksOf(other).filter((check) => check.subject.slot === slot.row));
    return firstVerdict({
      configured: member.pool.spec.check?.initial ?? null,
      processStart: this.#active === null,
      inService: serving.length > 0 && opinions.every((check) => check.record.verdict === 'up'),
    });
  }

  #tell(happening: Happening): void {
    this.#deps.onEvent({ at: this.#deps.clock.wall(), ...happening });
  }
}

function checksOf(member: Member): RunningCheck[] {
  return member.endpoints.flatMap(({ check }) => (check === null ? [] : [check]));
}
