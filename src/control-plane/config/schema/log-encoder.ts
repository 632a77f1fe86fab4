/** `encoder` of a log: the form of its lines, and what is taken out of them. */
import { z } from 'zod';
import type { AccessFilterPlan } from '../../../shared/plan/types.ts';
import { moduleOf } from './module.ts';
import { re2Pattern } from './patterns.ts';
import { accept, list, mapOf, object, oneOf, text, wholeNumber } from './primitives.ts';

export interface EncoderConfig {
  readonly format: 'json' | 'console';
  readonly filters: readonly AccessFilterPlan[];
}

const TLS_FIELDS = ['version', 'cipher_suite', 'resumed', 'proto', 'server_name'] as const;

/** Caddy's names of fields we have, and ours. */
const FIELDS: Readonly<Record<string, string>> = {
  ts: 'time',
  'request>client_ip': 'client',
  'request>remote_ip': 'peer',
  'request>method': 'method',
  'request>host': 'host',
  'request>uri': 'target',
  'request>proto': 'proto',
  size: 'bytes',
  duration: 'duration_ms',
  ...Object.fromEntries(TLS_FIELDS.map((name) => [`request>tls>${name}`, `tls_${name}`])),
  ...Object.fromEntries(
    [
      'time',
      'client',
      'peer',
      'method',
      'host',
      'target',
      'proto',
      'status',
      'bytes',
      'duration_ms',
      'upstream',
      'attempts',
      'affinity',
      'user_id',
      'fault',
      ...TLS_FIELDS.map((name) => `tls_${name}`),
    ].map((name) => [name, name]),
  ),
};
/** Fields of Caddy's that never stand in our lines: taking them out is done already. */
const NEVER_THERE =
  /^(?:request>(?:headers|tls>client_(?:common_name|serial)|remote_port)|resp_headers|bytes_read|logger)(?:>|$)/;

type FilterConfig = Exclude<DistributiveOmit<AccessFilterPlan, 'field'>, { filter: 'append' }> | CookieFilterConfig;

/** Accepted for what Caddy's lines have and ours have not. */
interface CookieFilterConfig {
  readonly filter: 'cookie';
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const ACTIONS = ['replace', 'hash', 'delete'] as const;
const queryAction = object({
  type: oneOf(ACTIONS),
  parameter: text('the name of a parameter'),
  value: text().default(''),
});
const cookieAction = object({ type: oneOf(ACTIONS), name: text('the name of a cookie'), value: text().default('') });
const COOKIE: CookieFilterConfig = Object.freeze({ filter: 'cookie' });

const filter: z.ZodType<FilterConfig> = moduleOf<FilterConfig>({
  key: 'filter',
  noun: 'log filter',
  modules: () => ({
    delete: object({ filter: z.literal('delete') }),
    regexp: object({
      filter: z.literal('regexp'),
      regexp: re2Pattern(),
      value: text().default(''),
    }),
    query: object({ filter: z.literal('query'), actions: list(queryAction).default([]) }),
    cookie: object({ filter: z.literal('cookie'), actions: list(cookieAction).default([]) }).transform(() => COOKIE),
    hash: object({ filter: z.literal('hash') }),
    replace: object({ filter: z.literal('replace'), value: text().default('') }),
    rename: object({ filter: z.literal('rename'), name: text('the new name of the field') }),
    ip_mask: object({
      filter: z.literal('ip_mask'),
      ipv4_cidr: wholeNumber(0, 32).default(32),
      ipv6_cidr: wholeNumber(0, 128).default(128),
    }).transform(({ filter: name, ipv4_cidr: ipv4, ipv6_cidr: ipv6 }) => ({ filter: name, ipv4, ipv6 })),
  }),
  notYet: ['multi_regexp'],
});

/** Fields are changed in the order of the file. */
const filters: z.ZodType<AccessFilterPlan[]> = mapOf(filter).transform((fields, context) =>
  Object.entries(fields).flatMap(([name, change]): AccessFilterPlan[] => {
    if (name === 'request>tls' && change.filter === 'delete') {
      return TLS_FIELDS.map((field) => ({ filter: 'delete', field: `tls_${field}` }));
    }
    if (NEVER_THERE.test(name) && isHarmlessThere(change)) return [];
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    if (field !== undefined && change.filter !== 'cookie') return [{ ...change, field }];
    const message =
      change.filter === 'cookie'
        ? `access lines hold no cookies: '${name}' has none to change`
        : `access lines have no field '${name}': there is ${Object.values(FIELDS)
            .filter((known, at, all) => all.indexOf(known) === at)
            .join(', ')}`;
    context.addIssue({ code: 'custom', message, path: [name] });
    return [];
  }),
);

/** Whoever hides what is in a field is content when there is no such field. */
function isHarmlessThere({ filter: kind }: FilterConfig): boolean {
  return kind !== 'rename';
}

const json = object({ format: z.literal('json') }).transform(() => plain('json'));
const consoleText = object({ format: z.literal('console') }).transform(() => plain('console'));

function plain(format: EncoderConfig['format']): EncoderConfig {
  return { format, filters: [] };
}

/** Outer changes come first. */
function around(
  filtersOutside: readonly AccessFilterPlan[],
  { format, filters: inside }: EncoderConfig,
): EncoderConfig {
  return { format, filters: [...filtersOutside, ...inside] };
}

const wrapped: z.ZodType<EncoderConfig> = z.lazy(() => encoderSchema);

const filtered: z.ZodType<EncoderConfig> = object({
  format: z.literal('filter'),
  wrap: wrapped.default(plain('json')),
  fields: filters.default([]),
}).transform(({ wrap, fields }) => around(fields, wrap));

const scalar = accept('a text, a number or true/false', (value) => {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
});

const appended: z.ZodType<EncoderConfig> = object({
  format: z.literal('append'),
  wrap: wrapped.default(plain('json')),
  fields: mapOf(scalar).default({}),
}).transform(({ wrap, fields }) => {
  return around(
    Object.entries(fields).map(([field, value]) => ({ field, filter: 'append', value })),
    wrap,
  );
});

export const encoderSchema: z.ZodType<EncoderConfig> = moduleOf<EncoderConfig>({
  key: 'format',
  noun: 'log format',
  modules: () => ({ json, console: consoleText, filter: filtered, append: appended }),
  notYet: ['journald'],
});
