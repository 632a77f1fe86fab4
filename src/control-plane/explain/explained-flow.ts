import { FlowRequest, type LocalEnd } from '../../data-plane/layer4/flow-request.ts';
import type { IpAddress } from '../../shared/net/ip.ts';
import { NO_CLOCK, ReplayedChance } from './explained-request.ts';
import type { TrialPool } from './trial-pool.ts';

/** A connection or session that nobody opened. */
export class ExplainedFlow extends FlowRequest {
  /** The pool it is routed to. */
  pool: TrialPool | null = null;
  readonly #chance: ReplayedChance;

  constructor(client: IpAddress, peerPort: number, local: LocalEnd, seed: number) {
    const chance = new ReplayedChance(seed);
    super({ clock: NO_CLOCK, random: chance }, client, peerPort, local);
    this.#chance = chance;
  }

  /** Forgets what a look at the pool left behind, so that the next look begins as the first did. */
  rewind(): void {
    this.#chance.rewind();
    this.pool?.rewind();
    this.forgetTried();
  }
}
