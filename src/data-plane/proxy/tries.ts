/**
 * The tries of one request: which member is asked, at which endpoint, and what follows when that
 * fails. Every eligible member is tried at most once before anything is tried twice.
 */
import type { EndpointPlan } from '../../shared/plan/types.ts';
import { FACT_DIAL_FAILURES, FACT_IN_FLIGHT, FACT_RETRIES } from '../../shared/state-table/layout.ts';
import type { UpstreamConnection } from '../http1/upstream-connection.ts';
import type { Pool } from '../pool/pool.ts';
import type { World } from '../world.ts';
import type { RequestFacts } from './request-facts.ts';
import { mayRetry, mayWait, timeLeft, type TryState } from './retry.ts';
import type { UpstreamUser } from './sides.ts';

export interface TryUser extends UpstreamUser {
  /** The client has gone or was answered: nothing more is tried. */
  readonly over: boolean;
  /** No try is left. `status`: that of the last failure, 503 when no member was eligible at all. */
  onTriesEnded(status: number): void;
}

export class Tries {
  /** Tries that picked a member. */
  attempts = 0;
  /** The member picked last, −1 before the first pick. */
  position = -1;
  /** Where the running try goes; null between tries. */
  endpoint: EndpointPlan | null = null;
  readonly pool: Pool;
  readonly #world: World;
  readonly #request: RequestFacts;
  readonly #user: TryUser;
  readonly #startedAt: number;
  /** The dial of the running try, null once it is connected or failed. */
  #dial: UpstreamConnection | null = null;
  #endpointIndex = -1;
  /** Slot of the try that failed and is not made up for yet, −1 = none. */
  #failedSlot = -1;
  #lastStatus = 0;
  /** Rounds in which nobody was eligible before anybody was tried; each counts for `lb_retries`. */
  #idleRounds = 0;

  constructor(world: World, pool: Pool, request: RequestFacts, user: TryUser, startedAt: number) {
    this.#world = world;
    this.pool = pool;
    this.#request = request;
    this.#user = user;
    this.#startedAt = startedAt;
  }

  /** Configured text of the picked upstream, '' before a pick. */
  get upstream(): string {
    return this.position < 0 ? '' : this.pool.upstream(this.position);
  }

  /** Picks a member and dials it. Ends in `onConnected` or `onDialFailed` of the user, or in `onTriesEnded`. */
  next(): void {
    const position = this.pool.policy.pick(this.pool, this.#request);
    if (position < 0) {
      this.#nobodyLeft();
      return;
    }
    if (this.#failedSlot >= 0) this.#world.facts.count(this.#failedSlot, FACT_RETRIES, 1);
    this.#failedSlot = -1;
    this.attempts += 1;
    this.position = position;
    this.#endpointIndex = -1;
    this.#dialNext();
  }

  connected(): void {
    this.#dial = null;
  }

  /** The dial of the running try failed: the next endpoint of the member, then another member. */
  dialFailed(): void {
    const { slot } = this.endpoint!;
    this.#world.facts.count(slot, FACT_DIAL_FAILURES, 1);
    this.#world.dialFailed(slot);
    this.#failedSlot = slot;
    this.leave();
    this.#dialNext();
  }

  /** The request may go to another member although `slot` had it already. */
  reroute(slot: number): void {
    this.#failedSlot = slot;
    this.#memberFailed(502);
  }

  /** The same endpoint again, on a connection of its own. */
  replay(endpoint: EndpointPlan): void {
    this.#world.facts.count(endpoint.slot, FACT_RETRIES, 1);
    this.#connect(endpoint, true);
  }

  /** The endpoint is done with this request, well or badly. A dial that nobody waits for any more is given up. */
  leave(): void {
    if (this.endpoint === null) return;
    this.#dial?.close();
    this.#dial = null;
    this.#world.facts.add(this.endpoint.slot, FACT_IN_FLIGHT, -1);
    this.endpoint = null;
  }

  #dialNext(): void {
    const index = this.pool.nextEndpoint(this.position, this.#endpointIndex + 1);
    if (index < 0) {
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
    this.endpoint = endpoint;
    this.#world.facts.add(endpoint.slot, FACT_IN_FLIGHT, 1);
    const { responseLimits } = this.pool;
    this.#dial = this.#world.endpoints.connect(endpoint, responseLimits, dialTimeoutMs, fresh, this.#user);
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
    this.#world.clock.after(retry.tryIntervalMs, () => this.#again());
  }

  #again(): void {
    if (this.#user.over) return;
    this.#request.forgetTried();
    this.next();
  }
}
