/** Changes of method and target, as the `rewrite` handler and `reverse_proxy` share them. */
import type { z } from 'zod';
import { fieldValue, method, re2Pattern } from './patterns.ts';
import { list, object, orNull, text, wholeNumber } from './primitives.ts';
import { queryOpsSchema, type QueryOpsConfig } from './query-ops.ts';

export interface RewriteFields {
  readonly method: string;
  readonly uri: string;
  readonly strip_path_prefix: string;
  readonly strip_path_suffix: string;
  readonly uri_substring: readonly { readonly find: string; readonly replace: string; readonly limit: number }[];
  readonly path_regexp: readonly { readonly find: string; readonly replace: string }[];
  /** null = none. */
  readonly query: QueryOpsConfig | null;
}

const substring = object({
  find: text().refine((value) => value !== '', { error: 'expected a text to find, found an empty one' }),
  replace: text().default(''),
  limit: wholeNumber(0, 1_000_000).default(0),
});

const pathRegexp = object({
  find: re2Pattern().refine((value) => value !== '', { error: 'expected an expression to find, found an empty one' }),
  replace: text().default(''),
});

export interface RewriteShape {
  readonly method: z.ZodType<string>;
  readonly uri: z.ZodType<string>;
  readonly strip_path_prefix: z.ZodType<string>;
  readonly strip_path_suffix: z.ZodType<string>;
  readonly uri_substring: z.ZodType<RewriteFields['uri_substring']>;
  readonly path_regexp: z.ZodType<RewriteFields['path_regexp']>;
  readonly query: z.ZodType<QueryOpsConfig | null>;
}

export const rewriteShape: RewriteShape = Object.freeze({
  method: method().default(''),
  uri: fieldValue().default(''),
  strip_path_prefix: text().default(''),
  strip_path_suffix: text().default(''),
  uri_substring: list(substring).default([]),
  path_regexp: list(pathRegexp).default([]),
  query: orNull(queryOpsSchema),
});

/** `rewrite` of `reverse_proxy`: only what goes upstream is changed. */
export const upstreamRewriteSchema: z.ZodType<RewriteFields> = object({ ...rewriteShape });
