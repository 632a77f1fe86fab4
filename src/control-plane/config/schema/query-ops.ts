/** `query` of a rewrite: operations on the keys and values of a query. */
import type { z } from 'zod';
import { re2Pattern } from './patterns.ts';
import { list, object, text } from './primitives.ts';

export interface QueryOpsConfig {
  /** `val` is the new key. */
  readonly rename: readonly QueryArgumentsConfig[];
  readonly set: readonly QueryArgumentsConfig[];
  readonly add: readonly QueryArgumentsConfig[];
  readonly replace: readonly QueryReplaceConfig[];
  readonly delete: readonly string[];
}

export interface QueryArgumentsConfig {
  readonly key: string;
  readonly val: string;
}

interface QueryReplaceConfig {
  readonly key: string;
  readonly search: string;
  readonly search_regexp: string;
  readonly replace: string;
}

const key = text('a key of the query').refine((value) => value !== '', {
  error: 'expected a key of the query, found an empty one',
});

const pair = object({ key, val: text().default('') });

const replacement = object({
  key,
  search: text().default(''),
  search_regexp: re2Pattern().default(''),
  replace: text().default(''),
}).refine((rule) => (rule.search === '') !== (rule.search_regexp === ''), {
  error: 'expected either search or search_regexp',
});

export const queryOpsSchema: z.ZodType<QueryOpsConfig> = object({
  rename: list(pair).default([]),
  set: list(pair).default([]),
  add: list(pair).default([]),
  replace: list(replacement).default([]),
  delete: list(key).default([]),
});
