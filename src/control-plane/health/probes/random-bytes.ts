import type { Random } from '../../../shared/random.ts';

/** Tells answers apart; no secret. */
export function randomBytes(random: Random, count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, () => Math.floor(random.next() * 256)));
}
