/** `encoder` of a log: the form of its lines, and what is taken out of them. */
import { z } from 'zod';
import type { AccessFilterPlan } from '../../../shared/plan/types.ts';
import { moduleOf } from './module.ts';
import { mapOf, object, text, wholeNumber } from './primitives.ts';

export interface EncoderConfig {
  readonly format: 'json' | 'console';
  readonly filters: readonly AccessFilterPlan[];
}

/** Caddy's names of fields we have, and ours. */
const FIELDS: Readonly<Record<string, string>> = {
  ts: 'time',
  'request>client_ip': 'client',
  'request>remote_ip': 'peer',
  'request>method': 'method',
  'request>host': 'host',
  'request>uri': 'target',
  size: 'bytes',
  duration: 'duration_ms',
  ...Object.fromEntries(
    [
      'time',
      'client',
      'peer',
      'method',
      'host',
      'target',
      'status',
      'bytes',
      'duration_ms',
      'upstream',
      'attempts',
      'affinity',
    ].map((name) => [name, name]),
  ),
};
/** Fields of Caddy's that never stand in our lines: taking them out is done already. */
const NEVER_THERE = /^(?:request>(?:headers|tls|remote_port|proto)|resp_headers|user_id|bytes_read|logger)(?:>|$)/;

type FilterConfig = DistributiveOmit<AccessFilterPlan, 'field'>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const filter: z.ZodType<FilterConfig> = moduleOf<FilterConfig>({
  key: 'filter',
  noun: 'log filter',
  modules: () => ({
    delete: object({ filter: z.literal('delete') }),
    hash: object({ filter: z.literal('hash') }),
    replace: object({ filter: z.literal('replace'), value: text().default('') }),
    rename: object({ filter: z.literal('rename'), name: text('the new name of the field') }),
    ip_mask: object({
      filter: z.literal('ip_mask'),
      ipv4_cidr: wholeNumber(0, 32).default(32),
      ipv6_cidr: wholeNumber(0, 128).default(128),
    }).transform(({ filter: name, ipv4_cidr: ipv4, ipv6_cidr: ipv6 }) => ({ filter: name, ipv4, ipv6 })),
  }),
  notYet: ['regexp', 'query', 'cookie', 'multi_regexp'],
});

/** Fields are changed in the order of the file. */
const filters: z.ZodType<AccessFilterPlan[]> = mapOf(filter).transform((fields, context) =>
  Object.entries(fields).flatMap(([name, change]): AccessFilterPlan[] => {
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    if (field !== undefined) return [{ ...change, field }];
    if (change.filter === 'delete' && NEVER_THERE.test(name)) return [];
    const message = `access lines have no field '${name}': there is ${Object.values(FIELDS).slice(8).join(', ')}`;
    context.addIssue({ code: 'custom', message, path: [name] });
    return [];
  }),
);

const json = object({ format: z.literal('json') }).transform(() => plain('json'));
const consoleText = object({ format: z.literal('console') }).transform(() => plain('console'));

function plain(format: EncoderConfig['format']): EncoderConfig {
  return { format, filters: [] };
}

const wrapped: z.ZodType<EncoderConfig> = moduleOf<EncoderConfig>({
  key: 'format',
  noun: 'log format',
  modules: () => ({ json, console: consoleText }),
  notYet: ['append', 'journald'],
});

export const encoderSchema: z.ZodType<EncoderConfig> = moduleOf<EncoderConfig>({
  key: 'format',
  noun: 'log format',
  modules: () => ({
    json,
    console: consoleText,
    filter: object({
      format: z.literal('filter'),
      wrap: wrapped.default(plain('json')),
      fields: filters.default([]),
    }).transform(({ wrap, fields }) => ({ format: wrap.format, filters: fields })),
  }),
  notYet: ['append', 'journald'],
});
