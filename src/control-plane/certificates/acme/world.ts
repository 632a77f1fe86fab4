/** What everybody who issues certificates into one storage shares. */
import type { Clock } from '../../../shared/clock.ts';
import type { Random } from '../../../shared/random.ts';
import type { Authority } from '../authority.ts';
import type { Credential } from '../pem.ts';
import { Challenges } from './challenges.ts';
import { Gate } from './gate.ts';
import { Locks } from './locks.ts';
import type { Storage } from './storage.ts';

/** Orders at once: a config may have thousands of names. */
const MAX_ORDERS = 8;

export interface IssuanceWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly storage: Storage;
  readonly locks: Locks;
  readonly challenges: Challenges;
  readonly gate: Gate;
  /** Wait before the second attempt. */
  readonly firstRetryMs: number;
  authority(id: string): Authority | null;
  /** Before it is served: what else clients want to see with it. Never rejects. */
  beforeUse(credential: Credential): Promise<void>;
}

export function makeWorld(
  parts: Pick<IssuanceWorld, 'clock' | 'random' | 'storage' | 'firstRetryMs' | 'authority' | 'beforeUse'>,
): IssuanceWorld {
  const { storage, clock } = parts;
  return {
    ...parts,
    locks: new Locks(storage, clock),
    challenges: new Challenges(storage),
    gate: new Gate(MAX_ORDERS),
  };
}
