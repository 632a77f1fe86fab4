/** Header operations (Caddy's HeaderOps) of the `headers` handler and of `header_up` / `header_down`. */
import type { z } from 'zod';
import { fieldName, fieldValue, re2Pattern } from './patterns.ts';
import { flag, list, mapOf, object, orNull, statusPattern, text } from './primitives.ts';

interface HeaderReplaceConfig {
  readonly search: string;
  readonly search_regexp: string;
  readonly replace: string;
}

export interface HeaderOpsConfig {
  readonly add: Readonly<Record<string, readonly string[]>>;
  readonly set: Readonly<Record<string, readonly string[]>>;
  readonly delete: readonly string[];
  readonly replace: Readonly<Record<string, readonly HeaderReplaceConfig[]>>;
}

export interface ResponseHeaderOpsConfig extends HeaderOpsConfig {
  readonly deferred: boolean;
  readonly require: ResponseMatcherConfig | null;
}

export interface ResponseMatcherConfig {
  readonly status_code: readonly number[];
  readonly headers: Readonly<Record<string, readonly string[] | null>>;
}

/** An object whose keys are header fields. A key that is none is refused under its own path. */
export function fieldMap<T>(value: z.ZodType<T>): z.ZodType<Record<string, T>> {
  return mapOf(value).superRefine((map, context) => {
    for (const name of Object.keys(map)) {
      if (fieldName().safeParse(name).success) continue;
      context.addIssue({ code: 'custom', path: [name], message: `expected a header field name, found '${name}'` });
    }
  });
}

const replacement = object({
  search: text().default(''),
  search_regexp: re2Pattern().default(''),
  replace: fieldValue().default(''),
}).refine((rule) => (rule.search === '') !== (rule.search_regexp === ''), {
  error: 'expected either search or search_regexp',
});

const operations = {
  add: fieldMap(list(fieldValue())).default({}),
  set: fieldMap(list(fieldValue())).default({}),
  delete: list(fieldName()).default([]),
  replace: fieldMap(list(replacement)).default({}),
};

export const responseMatcherSchema: z.ZodType<ResponseMatcherConfig> = object({
  status_code: list(statusPattern()).default([]),
  headers: fieldMap(list(text('a header value')).nullable()).default({}),
});

export const headerOpsSchema: z.ZodType<HeaderOpsConfig> = object(operations);

export const responseHeaderOpsSchema: z.ZodType<ResponseHeaderOpsConfig> = object({
  ...operations,
  deferred: flag().default(false),
  require: orNull(responseMatcherSchema),
});
