/** `drain` of a pool. */
import type { z } from 'zod';
import { parseDuration } from './duration.ts';
import { accept, describeDuration } from './primitives.ts';

/** The longest drain of a cloud's load balancer is 900 s; a working day is enough for any session. */
const MAX_DRAIN_MS = 86_400_000;

/** What becomes of the work on a server that gets no new work: it goes on, for so many milliseconds, or ends at once (0). */
export type DrainConfig = 'off' | number;

export const drainSchema: z.ZodType<DrainConfig> = accept(
  "'off', 'immediate' or a duration up to 1d",
  readDrain,
  describeDuration,
);

function readDrain(value: unknown): DrainConfig | undefined {
  if (value === 'off') return value;
  if (value === 'immediate') return 0;
  const ms = parseDuration(value);
  return ms !== undefined && ms > 0 && ms <= MAX_DRAIN_MS ? ms : undefined;
}
