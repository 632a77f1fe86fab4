/** When an authority that said no is asked again. */
import type { Random } from '../../../shared/random.ts';

/** After the first failure. */
export const FIRST_RETRY_MS = 60_000;
const MAX_RETRY_MS = 6 * 3_600_000;
/** A longer wish of an authority is not believed. */
const MAX_RETRY_AFTER_MS = 7 * 86_400_000;
const JITTER = 0.2;

/** Doubles with every failure. `retryAfterMs`: what the authority asked for, 0 = nothing; it is never undercut. */
export function retryDelayMs(
  failures: number,
  retryAfterMs: number,
  random: Random,
  firstMs: number = FIRST_RETRY_MS,
): number {
  const grown = Math.min(firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30), MAX_RETRY_MS);
  const spread = grown * (1 - JITTER / 2 + JITTER * random.next());
  return Math.max(spread, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}
