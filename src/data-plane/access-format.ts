/** From a finished request to its access line: which fields, in which form, and whether there is one at all (PURE). */
import type { Clock } from '../shared/clock.ts';
import { prefixMask } from '../shared/net/cidr.ts';
import { ipFromBytes, parseIp } from '../shared/net/ip.ts';
import type { AccessFilterPlan, AccessOutput, SamplingPlan } from '../shared/plan/types.ts';
import { changingQuery, hashed, replacingMatches } from './access-filters.ts';
import type { AccessRecord } from './access-log.ts';
import type { TlsFacts } from './route/tls-facts.ts';

/** A line with its newline, '' = none. */
export type LineWriter = (record: AccessRecord) => string;

export function compileLineWriter(output: AccessOutput, clock: Clock): LineWriter {
  const write = output.format === 'console' ? consoleWriter(output.filters) : jsonWriter(output.filters);
  const sample = output.sampling === null ? null : createSampler(output.sampling, clock);
  if (!output.errorsOnly && sample === null) return write;
  return (record) => {
    if (output.errorsOnly && record.status < 500) return '';
    return sample === null || sample() ? write(record) : '';
  };
}

/** HOT without filters: concatenation, because a structured logger costs ten times as much a line. */
function accessLine(record: AccessRecord): string {
  return (
    `{"time":"${new Date(record.wallMs).toISOString()}","client":"${record.client}","peer":"${record.peer}",` +
    `"method":${JSON.stringify(record.method)},"host":${JSON.stringify(record.host)},"target":${JSON.stringify(record.target)},` +
    `"proto":"${record.proto}",` +
    `"status":${record.status},"bytes":${record.bytes},"duration_ms":${record.durationMs.toFixed(3)},` +
    `"upstream":${JSON.stringify(record.upstream)},"attempts":${record.attempts},"affinity":"${record.affinity}"` +
    (record.tls === null ? '' : tlsText(record.tls)) +
    (record.user === '' ? '' : `,"user_id":${JSON.stringify(record.user)}`) +
    (record.fault === '' ? '}\n' : `,"fault":"${record.fault}"}\n`)
  );
}

function tlsText({ version, cipherSuite, resumed, proto, serverName }: TlsFacts): string {
  return (
    `,"tls_version":"${version}","tls_cipher_suite":"${cipherSuite}","tls_resumed":${resumed},` +
    `"tls_proto":"${proto}","tls_server_name":${JSON.stringify(serverName)}`
  );
}

type FieldValue = string | number | boolean;
type Fields = Map<string, FieldValue>;

function fieldsOf(record: AccessRecord): Fields {
  const { wallMs, durationMs, client, peer, method, host, target, status, bytes, upstream, attempts, affinity } =
    record;
  const { proto, tls, user, fault } = record;
  const time = new Date(wallMs).toISOString();
  const duration = Math.round(durationMs * 1000) / 1000;
  return new Map<string, FieldValue>(
    Object.entries({
      time,
      client,
      peer,
      method,
      host,
      target,
      proto,
      status,
      bytes,
      duration_ms: duration,
      upstream,
      attempts,
      affinity,
      ...(tls === null ? {} : tlsFields(tls)),
      ...(user === '' ? {} : { user_id: user }),
      ...(fault === '' ? {} : { fault }),
    }),
  );
}

function tlsFields({ version, cipherSuite, resumed, proto, serverName }: TlsFacts): Record<string, FieldValue> {
  return {
    tls_version: version,
    tls_cipher_suite: cipherSuite,
    tls_resumed: resumed,
    tls_proto: proto,
    tls_server_name: serverName,
  };
}

function jsonWriter(filters: readonly AccessFilterPlan[]): LineWriter {
  if (filters.length === 0) return accessLine;
  const filter = compileFilters(filters);
  return (record) => `${JSON.stringify(Object.fromEntries(filter(fieldsOf(record))))}\n`;
}

/** `time⇥LEVEL⇥handled request⇥{…}`, as consoles are used to. */
function consoleWriter(filters: readonly AccessFilterPlan[]): LineWriter {
  const filter = compileFilters(filters);
  return (record) => {
    const { time = '-', ...rest } = Object.fromEntries(filter(fieldsOf(record)));
    return `${time}\t${record.status < 500 ? 'INFO' : 'ERROR'}\thandled request\t${JSON.stringify(rest)}\n`;
  };
}

function compileFilters(filters: readonly AccessFilterPlan[]): (fields: Fields) => Fields {
  const steps = filters.map(compileFilter);
  return (fields) => {
    for (const step of steps) step(fields);
    return fields;
  };
}

function compileFilter(plan: AccessFilterPlan): (fields: Fields) => void {
  const { field } = plan;
  switch (plan.filter) {
    case 'delete':
      return (fields) => void fields.delete(field);
    case 'rename':
      return (fields) => rename(fields, field, plan.name);
    case 'replace':
      return changing(field, () => plan.value);
    case 'hash':
      return changing(field, (value) => hashed(String(value)));
    case 'regexp': {
      const replace = replacingMatches(plan.regexp, plan.value);
      return changing(field, (value) => replace(String(value)));
    }
    case 'query': {
      const change = changingQuery(plan.actions);
      return changing(field, (value) => change(String(value)));
    }
    case 'append':
      return (fields) => void fields.set(field, plan.value);
    case 'ip_mask': {
      const masks = { 4: prefixMask(4, plan.ipv4), 6: prefixMask(6, plan.ipv6) };
      return changing(field, (value) => maskAddress(String(value), masks));
    }
  }
}

function changing(field: string, change: (value: FieldValue) => string): (fields: Fields) => void {
  return (fields) => {
    const value = fields.get(field);
    if (value !== undefined) fields.set(field, change(value));
  };
}

function rename(fields: Fields, from: string, to: string): void {
  const value = fields.get(from);
  if (value === undefined) return;
  fields.delete(from);
  fields.set(to, value);
}

/** What is no address is left out: it could be anything. */
function maskAddress(text: string, masks: Readonly<Record<4 | 6, Uint8Array>>): string {
  const address = parseIp(text);
  if (address === null) return '';
  const mask = masks[address.family];
  return ipFromBytes(address.bytes.map((byte, at) => byte & mask[at]!))?.text ?? '';
}

/** Of each interval the first lines, then every so many-th. Each worker counts for itself. */
function createSampler({ intervalMs, first, thereafter }: SamplingPlan, clock: Clock): () => boolean {
  let startedAt = -Infinity;
  let seen = 0;
  return () => {
    const now = clock.now();
    if (now - startedAt >= intervalMs) {
      startedAt = now;
      seen = 0;
    }
    seen += 1;
    return seen <= first || (thereafter > 0 && (seen - first) % thereafter === 0);
  };
}
