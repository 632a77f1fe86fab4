/** The running try of a request as its member's passive checks see it. Exists only in pools that have some. */
import type { PassiveWatch } from '../pool/passive.ts';
import { TESTED_ELSEWHERE } from '../pool/passive.ts';
import type { Pool } from '../pool/pool.ts';
import type { World } from '../world.ts';

/** What a watch needs of its worker. */
type WatchWorld = Pick<World, 'clock' | 'passiveResult'>;

export class TryWatch {
  readonly #world: WatchWorld;
  readonly #pool: Pool;
  readonly #passive: PassiveWatch;
  #position = -1;
  /** Row of the member the try runs on, −1 when its result is known. */
  #row = -1;
  #mark = 0;
  #sentAt = 0;

  constructor(world: WatchWorld, pool: Pool, passive: PassiveWatch) {
    this.#world = world;
    this.#pool = pool;
    this.#passive = passive;
  }

  /** A try was picked for this member. False: another request tests it already, pick again. */
  begin(position: number): boolean {
    this.#row = -1;
    const row = this.#pool.row(position);
    if (row < 0) return true;
    const mark = this.#passive.take(row);
    if (mark === TESTED_ELSEWHERE) return false;
    this.#position = position;
    this.#row = row;
    this.#mark = mark;
    this.#sentAt = this.#world.clock.now();
    return true;
  }

  /** The request is complete: from now on the member is waited for. */
  sent(): void {
    this.#sentAt = this.#world.clock.now();
  }

  /** The response head is there. */
  answered(status: number): void {
    if (this.#passive.isFailure(status, this.#world.clock.now() - this.#sentAt)) this.failed();
    else this.#settle('passed');
  }

  /** The connection is there, and nothing more is asked of the member. */
  connected(): void {
    this.#settle('passed');
  }

  /** No response: not connected, broken off, no HTTP, or too late. */
  failed(): void {
    this.#settle('failed');
  }

  /** A try has one result. A member that DNS does not name any more has none: its row may be somebody else's. */
  #settle(outcome: 'failed' | 'passed'): void {
    const row = this.#row;
    const mark = this.#mark;
    this.#row = -1;
    if (row < 0 || this.#pool.row(this.#position) !== row) return;
    const wallMs = this.#world.clock.wall();
    const matters =
      outcome === 'failed' ? this.#passive.failed(row, mark, wallMs) : this.#passive.passed(row, mark, wallMs);
    if (!matters) return;
    this.#world.passiveResult(this.#pool.section.hash, row, outcome, Math.abs(mark));
  }
}
