/** `load_balancing`: selection and retries of a `reverse_proxy`. */
import type { z } from 'zod';
import { matcherSetSchema } from './matchers.ts';
import type { MatcherSetConfig } from './matchers.ts';
import { duration, flag, list, object, orNull, wholeNumber } from './primitives.ts';
import { selectionPolicySchema } from './selection-policy.ts';
import type { SelectionPolicyConfig } from './selection-policy.ts';

const HOUR_MS = 3_600_000;

export interface LoadBalancingConfig {
  readonly selection_policy: SelectionPolicyConfig;
  /** null = not written (failover without options), 0 = off. */
  readonly retries: number | null;
  /** Milliseconds; 0 = not limited by this option. */
  readonly try_duration: number;
  /** Milliseconds. */
  readonly try_interval: number;
  readonly best_effort: boolean;
  /** Which failed tries and responses go to another upstream; empty = the default rules. */
  readonly retry_match: readonly MatcherSetConfig[];
  /** Requests that may wait for one full upstream; null = they do not wait. */
  readonly queue: QueueConfig | null;
}

export interface QueueConfig {
  readonly size: number;
  /** Milliseconds. */
  readonly timeout: number;
}

const queue: z.ZodType<QueueConfig> = object({
  size: wholeNumber(1, 100_000),
  timeout: duration(1, HOUR_MS).default(10_000),
});

export const loadBalancingSchema: z.ZodType<LoadBalancingConfig> = object({
  selection_policy: selectionPolicySchema.default({ policy: 'random' }),
  retries: orNull(wholeNumber(0, 1000)),
  try_duration: duration(0, HOUR_MS).default(0),
  try_interval: duration(0, HOUR_MS).default(250),
  best_effort: flag().default(false),
  retry_match: list(matcherSetSchema).default([]),
  queue: orNull(queue),
});
