/** One entry of `upstreams`. */
import type { z } from 'zod';
import { duration, flag, object, orNull, text, wholeNumber } from './primitives.ts';

const HOUR_MS = 3_600_000;
const MAX_REQUESTS = 1_000_000;
/** As many as `PATCH /upstreams` takes. */
export const MAX_WEIGHT = 65_535;

export interface UpstreamConfig {
  readonly dial: string;
  /** Requests at the same time; 0 = any number. */
  readonly max_requests: number;
  /** null = not written. 0 = no new clients. */
  readonly weight: number | null;
  /** Used only while no other upstream may be picked. */
  readonly backup: boolean;
  /** Milliseconds over which a recovered server's weight grows to its own; 0 = at once. */
  readonly slow_start: number;
}

export const upstreamSchema: z.ZodType<UpstreamConfig> = object({
  dial: text('host:port'),
  max_requests: wholeNumber(0, MAX_REQUESTS).default(0),
  weight: orNull(wholeNumber(0, MAX_WEIGHT)),
  backup: flag().default(false),
  slow_start: duration(0, HOUR_MS).default(0),
});
