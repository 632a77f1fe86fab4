/** Picking by a Maglev table (PURE, HOT). */
import { describeMember, describeState } from './describe.ts';
import { takesOwn } from './eligible.ts';
import { laterHomeOf } from './hash.ts';
import { fillMaglevSlots, MAGLEV_SLOTS, type MaglevSlots } from './maglev-slots.ts';
import type { PickRequest, PoolView, WeightTable } from './policy.ts';
import { identityHashesOf, pickRendezvous } from './rendezvous.ts';

/** Places looked at before all members are compared: with half of them up, one key in 10^19 comes that far. */
const MAX_LOOKS = 64;

/**
 * One pool's table. It is over all configured members, eligible or not: a key whose member is away has a second
 * place, a third one …, so that only the keys of that member move, and come home. It is made with the first pick, and
 * again with the first one after a weight has changed; a table that nobody uses costs nothing.
 */
export class MaglevTable {
  readonly #identities: readonly string[];
  readonly #hashes: Uint32Array;
  #weights: WeightTable | null = null;
  #owners: MaglevSlots | null = null;

  /** `identities` are the members' configured texts by position. */
  constructor(identities: readonly string[]) {
    this.#identities = identities;
    this.#hashes = identityHashesOf(identities);
  }

  /** The member for a key's hash (uint32); −1 when nobody may be picked. */
  pick(pool: PoolView, request: PickRequest, hash: number): number {
    const owners = this.#ownersFor(pool);
    if (owners !== null) {
      for (let step = 0; step < MAX_LOOKS; step += 1) {
        const position = owners[slotOf(hash, step)]!;
        if (takesOwn(pool, request, position)) return position;
      }
    }
    return pickRendezvous(pool, request, hash, this.#hashes);
  }

  /** The key's member when everybody is well; −1 when all weights are 0. */
  home(pool: PoolView, hash: number): number {
    return this.#ownersFor(pool)?.[slotOf(hash, 0)] ?? -1;
  }

  describe(pool: PoolView, request: PickRequest, hash: number): readonly string[] {
    if (pool.size === 0) return [];
    const owners = this.#ownersFor(pool);
    if (owners === null) return ['every weight is 0: nobody owns a place of the table'];
    const sentences: string[] = [];
    const seen = new Set<number>();
    for (let step = 0; step < MAX_LOOKS && seen.size < pool.size; step += 1) {
      const position = owners[slotOf(hash, step)]!;
      const isTaken = takesOwn(pool, request, position);
      if (!seen.has(position)) sentences.push(describeLook(pool, request, hash, step, position));
      seen.add(position);
      if (isTaken) break;
    }
    return sentences;
  }

  #ownersFor(pool: PoolView): MaglevSlots | null {
    const weights = pool.weightTable();
    if (weights !== this.#weights) {
      this.#owners = fillMaglevSlots(this.#identities, weights);
      this.#weights = weights;
    }
    return this.#owners;
  }
}

function slotOf(hash: number, step: number): number {
  return laterHomeOf(hash, MAGLEV_SLOTS, step);
}

function describeLook(pool: PoolView, request: PickRequest, hash: number, step: number, position: number): string {
  const which = step === 0 ? `place ${slotOf(hash, 0)} of ${MAGLEV_SLOTS}` : `then place ${slotOf(hash, step)}`;
  return `${which} belongs to upstream ${describeMember(pool, position)}, ${describeState(pool, request, position)}`;
}
