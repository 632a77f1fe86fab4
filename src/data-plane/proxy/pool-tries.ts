/**
 * The tries of one request or connection: which member is asked, at which endpoint, and what follows when that
 * fails. Every eligible member is tried at most once before anything is tried twice. How an endpoint is
 * dialled is left to those who extend it.
 */
import type { Timer } from '../../shared/clock.ts';
import type { EndpointPlan } from '../../shared/plan/types.ts';
import { FACT_DIAL_FAILURES, FACT_IN_FLIGHT, FACT_RETRIES, FACT_SPILLS } from '../../shared/state-table/layout.ts';
import { NO_CONNECTION_FREE } from '../pool/connection-gate.ts';
import type { Pool } from '../pool/pool.ts';
import type { Ticket, Waiter } from '../pool/waiting-line.ts';
import { countUsable, isUsable } from '../select/eligible.ts';
import type { PickRequest } from '../select/policy.ts';
import type { World } from '../world.ts';
import { mayRetry, mayWait, timeLeft, type TryState } from './retry.ts';
import { TryWatch } from './try-watch.ts';

/** A request that others beat to the last place so often goes the way of one that nobody may serve. */
const MAX_REFUSALS = 16;

/** What tries need of their worker. */
export type TryWorld = Pick<World, 'clock' | 'random' | 'wheel' | 'facts' | 'dialFailed' | 'passiveResult'>;

/** What is sent somewhere. */
export interface TriedRequest extends PickRequest {
  tried: readonly number[];
  /** Every member may be tried again. */
  forgetTried(): void;
}

/** A connection that is being made. */
export interface Dial {
  /** Gives it up without telling anybody. */
  close(): void;
}

export interface TryUser {
  /** The client has gone or was answered: nothing more is tried. */
  readonly over: boolean;
  /** No try is left. `status`: that of the last failure, 503 when no member was eligible at all. */
  onTriesEnded(status: number): void;
}

export abstract class PoolTries implements Waiter {
  /** Tries that picked a member. */
  attempts = 0;
  /** The member picked last, −1 before the first pick. */
  position = -1;
  /** Where the running try goes; null between tries. */
  endpoint: EndpointPlan | null = null;
  readonly pool: Pool;
  /** null = the pool has no passive checks. */
  readonly watch: TryWatch | null;
  readonly #world: TryWorld;
  readonly #request: TriedRequest;
  readonly #user: TryUser;
  #startedAt: number;
  /** The dial of the running try, null once it is connected or failed. */
  #dial: Dial | null = null;
  #endpointIndex = -1;
  /** Slot of the try that failed and is not made up for yet, −1 = none. */
  #failedSlot = -1;
  #lastStatus = 0;
  /** Rounds in which nobody was eligible before anybody was tried; each counts for `lb_retries`. */
  #idleRounds = 0;
  /** What it waits with for a place on a full server; null when it does not. */
  #ticket: Ticket | null = null;
  /** It stood first in a line, and passes those who wait there: what it waited with. */
  #turn: Ticket | null = null;
  /** It pauses before the next round of tries; null when it does not. */
  #pause: Timer | null = null;
  #localTrouble = false;
  #refusals = 0;

  constructor(world: TryWorld, pool: Pool, request: TriedRequest, user: TryUser, startedAt: number) {
    this.#world = world;
    this.pool = pool;
    this.watch = pool.passive === null ? null : new TryWatch(world, pool, pool.passive);
    this.#request = request;
    this.#user = user;
    this.#startedAt = startedAt;
  }

  /**
   * Dials the endpoint: ends in `connected` before it returns null, or returns a dial that ends in `connected` or
   * `dialFailed`. `fresh` forbids a connection that was used before.
   */
  protected abstract dial(endpoint: EndpointPlan, timeoutMs: number, fresh: boolean): Dial | null;

  /** Configured text of the picked upstream, '' before a pick. */
  get upstream(): string {
    return this.position < 0 ? '' : this.pool.upstream(this.position);
  }

  /** Picks a member and dials it. Ends as `dial` does, or in `onTriesEnded` of the user. */
  next(): void {
    this.#turn = null;
    const position = this.#pick();
    this.#countSpill();
    if (position < 0) {
      if (!this.#waitAnywhere()) this.#nobodyLeft();
      return;
    }
    if (this.#failedSlot >= 0) this.#world.facts.count(this.#failedSlot, FACT_RETRIES, 1);
    this.#failedSlot = -1;
    this.attempts += 1;
    this.position = position;
    this.#endpointIndex = -1;
    this.#dialNext();
  }

  /** Of the requests that are picked for a member under test one goes there; the others are picked anew. */
  #pick(): number {
    let position = this.pool.policy.pick(this.pool, this.#request);
    while (position >= 0 && this.watch?.begin(position) === false) {
      position = this.pool.policy.pick(this.pool, this.#request);
    }
    return position;
  }

  connected(): void {
    this.#dial = null;
  }

  /** The dial of the running try failed: the next endpoint of the member, then another member. */
  dialFailed(code: string): void {
    const { slot } = this.endpoint!;
    if (code === NO_CONNECTION_FREE) {
      this.#failedSlot = slot;
      this.leave();
      this.#memberFailed(503);
      return;
    }
    this.#world.facts.count(slot, FACT_DIAL_FAILURES, 1);
    this.#world.dialFailed(slot, code);
    this.#failedSlot = slot;
    this.leave();
    if (isLocalTrouble(code)) this.#localTrouble = true;
    this.#dialNext();
  }

  /** The request may go to another member although `slot` had it already. `status`: the answer when there is none. */
  reroute(slot: number, status: number): void {
    this.#failedSlot = slot;
    this.#memberFailed(status);
  }

  /** Whether another try would follow if the running one had failed: at once, or after a pause there is time for. */
  mayGoOn(): boolean {
    const { retry, transport } = this.pool.section;
    const state = this.#state();
    if (!mayRetry(retry, transport.dialTimeoutMs, state)) return false;
    const own = isUsable(this.pool, this.#request, this.position) ? 1 : 0;
    return countUsable(this.pool, this.#request) > own || mayWait(retry, transport.dialTimeoutMs, state);
  }

  /** The same endpoint again, on a connection of its own. */
  replay(endpoint: EndpointPlan): void {
    this.#world.facts.count(endpoint.slot, FACT_RETRIES, 1);
    this.#connect(endpoint, true);
  }

  /** The endpoint is done with this request, well or badly, or nobody waits for it any more. A dial that nobody waits for any more is given up. */
  leave(): void {
    if (this.#ticket !== null) this.#quit(this.#ticket);
    this.#pause?.cancel();
    this.#pause = null;
    if (this.endpoint === null) return;
    this.#dial?.close();
    this.#dial = null;
    const { slot } = this.endpoint;
    this.#world.facts.add(slot, FACT_IN_FLIGHT, -1);
    this.endpoint = null;
    this.pool.places?.left(this.#world, this.position, slot);
  }

  // --- a full server ------------------------------------------------------------------------------

  onTurn(): void {
    const ticket = this.#ticket!;
    this.#ticket = null;
    this.#startedAt += this.#world.clock.now() - ticket.since;
    if (this.watch?.begin(this.position) === false) {
      this.next();
      return;
    }
    this.#turn = ticket;
    this.attempts += 1;
    this.#endpointIndex = -1;
    this.#dialNext();
    this.#turn = null;
  }

  onServerGone(): void {
    this.#ticket = null;
    this.next();
  }

  onQueueTimeout(): void {
    this.#ticket = null;
    this.#user.onTriesEnded(503);
  }

  #quit(ticket: Ticket): void {
    this.#ticket = null;
    this.pool.places?.quit(ticket);
  }

  /** The picked member has no place: the request waits for one, or goes elsewhere. */
  #turnedAway(slot: number): void {
    this.attempts -= 1;
    if (this.#wait(slot)) return;
    this.#refusals += 1;
    if (this.#refusals < MAX_REFUSALS) this.next();
    else this.#nobodyLeft();
  }

  /** Nobody has a place: it waits where the fewest wait, if anywhere. */
  #waitAnywhere(): boolean {
    const position = this.pool.places?.shortestLine(this.#request.tried) ?? -1;
    if (position < 0) return false;
    const index = this.pool.nextEndpoint(position, 0);
    if (index < 0) return false;
    this.position = position;
    return this.#wait(this.pool.endpoint(position, index).slot);
  }

  /** A turn that came to nothing leaves the request where it stood, for as long as it had left. */
  #wait(slot: number): boolean {
    const { places } = this.pool;
    if (places === null) return false;
    const since = this.#world.clock.now();
    const expiresAt = this.#turn?.expiresAt ?? since + places.timeoutMs;
    const ticket = { waiter: this, position: this.position, slot, since, expiresAt };
    if (!places.join(this.#world, ticket, this.#turn !== null)) return false;
    this.#ticket = ticket;
    return true;
  }

  #countSpill(): void {
    const { spilledFrom } = this.#request;
    if (spilledFrom < 0) return;
    const [home] = this.pool.endpointsOf(spilledFrom);
    if (home !== undefined) this.#world.facts.count(home.slot, FACT_SPILLS, 1);
    this.#request.spilledFrom = -1;
  }

  // --- dialling -----------------------------------------------------------------------------------

  #dialNext(): void {
    const index = this.pool.nextEndpoint(this.position, this.#endpointIndex + 1);
    if (index < 0) {
      // Not when nothing was dialled, or when it was for want of descriptors or ports here.
      if (this.#endpointIndex >= 0 && !this.#localTrouble) this.watch?.failed();
      this.#memberFailed(502);
      return;
    }
    this.#endpointIndex = index;
    this.#connect(this.pool.endpoint(this.position, index), false);
  }

  #connect(endpoint: EndpointPlan, fresh: boolean): void {
    const { retry, transport } = this.pool.section;
    const left = timeLeft(retry, transport.dialTimeoutMs, this.#state());
    const dialTimeoutMs = Math.max(1, Math.min(transport.dialTimeoutMs, left));
    const { places } = this.pool;
    if (places === null) {
      this.#world.facts.add(endpoint.slot, FACT_IN_FLIGHT, 1);
    } else if (!places.take(this.#world, this.position, endpoint.slot, this.#turn !== null)) {
      this.#turnedAway(endpoint.slot);
      return;
    }
    this.endpoint = endpoint;
    this.#dial = this.dial(endpoint, dialTimeoutMs, fresh);
  }

  #state(): TryState {
    return { startedAt: this.#startedAt, now: this.#world.clock.now(), attempts: this.attempts + this.#idleRounds };
  }

  #memberFailed(status: number): void {
    const { retry, transport } = this.pool.section;
    this.#lastStatus = status;
    this.#request.tried = [...this.#request.tried, this.position];
    if (mayRetry(retry, transport.dialTimeoutMs, this.#state())) this.next();
    else this.#user.onTriesEnded(status);
  }

  /** No member is eligible, or every eligible one was tried. */
  #nobodyLeft(): void {
    const { retry, transport } = this.pool.section;
    if (!mayWait(retry, transport.dialTimeoutMs, this.#state())) {
      this.#user.onTriesEnded(this.#lastStatus === 0 ? 503 : this.#lastStatus);
      return;
    }
    if (this.attempts === 0) this.#idleRounds += 1;
    this.#pause = this.#world.clock.after(retry.tryIntervalMs, () => this.#again());
  }

  #again(): void {
    this.#pause = null;
    if (this.#user.over) return;
    this.#request.forgetTried();
    this.next();
  }
}

/** The dial failed for reasons of this machine, which say nothing about the upstream. */
function isLocalTrouble(code: string): boolean {
  return code === 'EMFILE' || code === 'ENFILE' || code === 'EADDRNOTAVAIL' || code === 'ENOBUFS' || code === 'ENOMEM';
}
