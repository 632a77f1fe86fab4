/**
 * `max_conns_per_host`: open connections to one address, idle ones included, counted exactly over all workers. Who
 * finds none free waits for one: first come, first served in each worker. Idle connections of other workers make room.
 */
import { FACT_CONNECTIONS, FACT_DIALS_WAITING } from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import { Deadline, type Expirable } from '../wheel.ts';
import type { Dial } from '../proxy/pool-tries.ts';
import type { Endpoints, UpstreamContext } from './endpoints.ts';
import type { GatedRequest } from './gated-request.ts';

/** Places also come free in other workers, which tell nobody: a look at them while somebody waits. */
const LOOK_MS = 50;
/** While requests of other workers wait, a worker gives one place away this often, or it would keep all it ever got. */
const TURN_MS = 500;
/** Every worker has looked once in this time: a deadline of `LOOK_MS` may be 100 ms late. */
const YIELD_MS = 150;
/** Code of a dial that got no place in time. No fault of the upstream's. */
export const NO_CONNECTION_FREE = 'HOLDFAST_NO_CONNECTION_FREE';

/** A request that waits for a connection. */
class Waiter implements Dial, Expirable {
  readonly request: GatedRequest;
  readonly deadline: Deadline = new Deadline(this);
  /** Its own dial, once it has a place. */
  dial: Dial | null = null;
  readonly #gate: ConnectionGate;

  constructor(gate: ConnectionGate, request: GatedRequest) {
    this.#gate = gate;
    this.request = request;
  }

  close(): void {
    if (this.dial !== null) this.dial.close();
    else this.#gate.leave(this);
  }

  onDeadline(): void {
    this.#gate.leave(this);
    this.request.user.onDialFailed(NO_CONNECTION_FREE);
  }
}

export class ConnectionGate implements Expirable {
  readonly #endpoints: Endpoints;
  readonly #context: UpstreamContext;
  readonly #table: StateTable;
  /** By slot, the one that came first in front. */
  readonly #waiting = new Map<number, Waiter[]>();
  /** Slots under a limit with connections of this worker. */
  readonly #slots = new Set<number>();
  readonly #look: Deadline = new Deadline(this);
  /** By slot, when the last turn of this worker began. */
  readonly #turns = new Map<number, number>();

  constructor(endpoints: Endpoints, context: UpstreamContext, table: StateTable) {
    this.#endpoints = endpoints;
    this.#context = context;
    this.#table = table;
  }

  /** As `Endpoints.connect`; the dial may wait for a place as long as the dial itself may take. */
  connect(request: GatedRequest): Dial | null {
    const { slot } = request;
    this.#slots.add(slot);
    this.#keepLooking();
    const line = this.#waiting.get(slot);
    if (line === undefined) {
      const served = this.#serve(request);
      if (served !== undefined) return served;
    }
    const waiter = new Waiter(this, request);
    if (line === undefined) this.#waiting.set(slot, [waiter]);
    else line.push(waiter);
    this.#context.facts.add(slot, FACT_DIALS_WAITING, 1);
    this.#context.wheel.arm(waiter.deadline, request.timeoutMs);
    return waiter;
  }

  leave(waiter: Waiter): void {
    const { slot } = waiter.request;
    const line = this.#waiting.get(slot);
    const at = line?.indexOf(waiter) ?? -1;
    if (at < 0) return;
    line!.splice(at, 1);
    if (line!.length === 0) this.#waiting.delete(slot);
    this.#context.wheel.remove(waiter.deadline);
    this.#context.facts.add(slot, FACT_DIALS_WAITING, -1);
  }

  /** A connection to the slot became idle or ended, or carries one request less. */
  freed(slot: number): void {
    if (!this.#slots.has(slot)) return;
    if (this.#othersWait(slot) && this.#context.wheel.now >= (this.#turns.get(slot) ?? -Infinity) + TURN_MS) {
      this.#turns.set(slot, this.#context.wheel.now);
      // Over HTTP/2 a connection that is always in use never is idle: its streams run out, and new ones wait.
      if (!this.#endpoints.closeIdle(slot)) this.#endpoints.legs.rest(slot, YIELD_MS);
    }
    this.#serveLine(slot);
  }

  #othersWait(slot: number): boolean {
    const own = this.#context.facts.load(slot, FACT_DIALS_WAITING);
    return this.#table.sumFacts(slot, FACT_DIALS_WAITING) > own;
  }

  /** A place that was just given away is for others. */
  #isYielding(slot: number): boolean {
    const since = this.#turns.get(slot);
    return since !== undefined && this.#context.wheel.now < since + YIELD_MS && this.#othersWait(slot);
  }

  onDeadline(): void {
    for (const slot of [...this.#slots]) {
      this.#serveLine(slot);
      if (this.#waiting.has(slot)) continue;
      if (this.#othersWait(slot)) this.#endpoints.closeIdle(slot);
      if (this.#context.facts.load(slot, FACT_CONNECTIONS) > 0) continue;
      this.#slots.delete(slot);
      this.#turns.delete(slot);
    }
    this.#keepLooking();
  }

  /** Whoever is served has left the line before it is told: what it does may lead back here. */
  #serveLine(slot: number): void {
    const line = this.#waiting.get(slot);
    if (line === undefined) return;
    for (let first = line.shift(); first !== undefined; first = line.shift()) {
      const served = this.#serve(first.request);
      if (served === undefined) {
        line.unshift(first);
        return;
      }
      first.dial = served;
      this.#context.wheel.remove(first.deadline);
      this.#context.facts.add(slot, FACT_DIALS_WAITING, -1);
    }
    if (this.#waiting.get(slot) === line) this.#waiting.delete(slot);
  }

  /** null = connected already; undefined = there is no connection and no place for one. */
  #serve(request: GatedRequest): Dial | null | undefined {
    const shared = request.share();
    if (shared !== undefined) return shared;
    if (!this.#take(request.slot, request.maxConnections)) {
      // One that is idle here and no use for this request makes room.
      this.#endpoints.closeIdle(request.slot);
      return undefined;
    }
    return request.dial();
  }

  /** Adds to the own row, then sums over all workers, then steps back: no two workers ever share the last place. */
  #take(slot: number, maxConnections: number): boolean {
    const { facts } = this.#context;
    if (this.#isYielding(slot) || this.#table.sumFacts(slot, FACT_CONNECTIONS) >= maxConnections) return false;
    facts.add(slot, FACT_CONNECTIONS, 1);
    if (this.#table.sumFacts(slot, FACT_CONNECTIONS) <= maxConnections) return true;
    facts.add(slot, FACT_CONNECTIONS, -1);
    return false;
  }

  #keepLooking(): void {
    if (this.#slots.size > 0 && this.#look.at === Infinity) this.#context.wheel.arm(this.#look, LOOK_MS);
  }
}
