/** One server of `apps.layer4.servers`. What belongs to one of TCP and UDP only is checked by the compiler, which reads the addresses. */
import type { z } from 'zod';
import { duration, list, object, oneOf, orNull, text, wholeNumber } from '../primitives.ts';
import { layer4RouteSchema } from './routes.ts';
import type { Layer4RouteConfig } from './routes.ts';

const DAY_MS = 86_400_000;
const MAX_COUNT = 1_000_000_000;
const MAX_SESSIONS = 1_000_000;
const MIN_BUFFER_BYTES = 4096;
const MAX_BUFFER_BYTES = 256 * 1024 * 1024;
const MAX_PER_SECOND = 1_000_000;
const MAX_MATCHING_MS = 300_000;

/** null = not written. Times are milliseconds, sizes bytes. */
export interface Layer4ServerConfig {
  readonly listen: readonly string[];
  readonly routes: readonly Layer4RouteConfig[];
  /** Until the first bytes let a route be chosen. */
  readonly matching_timeout: number | null;
  readonly idle_timeout: number | null;
  readonly connections: number | null;
  readonly connections_per_source: number | null;
  readonly new_per_second: number | null;
  readonly accept: 'kernel' | 'shared' | null;
  readonly workers: 'one' | 'all' | null;
  readonly max_sessions: number | null;
  readonly receive_buffer: number | null;
  readonly responses: number | null;
}

export const layer4ServerSchema: z.ZodType<Layer4ServerConfig> = object({
  listen: list(text('an address such as :3306 or udp/:53')).default([]),
  routes: list(layer4RouteSchema).default([]),
  matching_timeout: orNull(duration(1, MAX_MATCHING_MS)),
  idle_timeout: orNull(duration(1, DAY_MS)),
  connections: orNull(wholeNumber(1, MAX_COUNT)),
  connections_per_source: orNull(wholeNumber(1, MAX_COUNT)),
  new_per_second: orNull(wholeNumber(1, MAX_PER_SECOND)),
  accept: orNull(oneOf(['kernel', 'shared'])),
  workers: orNull(oneOf(['one', 'all'])),
  max_sessions: orNull(wholeNumber(1, MAX_SESSIONS)),
  receive_buffer: orNull(wholeNumber(MIN_BUFFER_BYTES, MAX_BUFFER_BYTES)),
  responses: orNull(wholeNumber(1, MAX_SESSIONS)),
});
