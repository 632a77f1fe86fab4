import {
  DURATION_BUCKETS,
  SERVER_ABORTED,
  SERVER_BAD_REQUESTS,
  SERVER_BYTES_IN,
  SERVER_BYTES_OUT,
  SERVER_CONNECTIONS,
  SERVER_CONNECTIONS_ACCEPTED,
  SERVER_DURATION_BUCKETS,
  SERVER_DURATION_SUM,
  HTTP_LIMITS,
  LAYER4_LIMITS,
  LIMIT_NAMES,
  SERVER_DATAGRAMS_DROPPED,
  SERVER_DATAGRAMS_IN,
  SERVER_DATAGRAMS_OUT,
  SERVER_HANDSHAKES,
  SERVER_HANDSHAKES_FAILED,
  SERVER_HANDSHAKES_RESUMED,
  SERVER_HTTP2_SESSION_ERRORS,
  SERVER_IN_FLIGHT,
  SERVER_LIMITS,
  SERVER_NO_UPSTREAM,
  SERVER_RESPONSES,
  SERVER_TIMEOUTS,
} from '../../shared/state-table/layout.ts';
import type { Layer4RoutePlan } from '../../shared/plan/layer4.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { CertificateStatus, ControlPlane } from '../types.ts';
import { CODE_CLASSES, type MetricKey } from './names.ts';
import type { Sample } from './sample.ts';

/** Totals of a server that are one word each. */
const SERVER_TOTALS: readonly (readonly [MetricKey, number])[] = [
  ['requestsAborted', SERVER_ABORTED],
  ['badRequests', SERVER_BAD_REQUESTS],
  ['serverTimeouts', SERVER_TIMEOUTS],
  ['noUpstream', SERVER_NO_UPSTREAM],
  ['http2SessionErrors', SERVER_HTTP2_SESSION_ERRORS],
  ['accepted', SERVER_CONNECTIONS_ACCEPTED],
  ['bytesIn', SERVER_BYTES_IN],
  ['bytesOut', SERVER_BYTES_OUT],
];

const LAYER4_TOTALS: readonly (readonly [MetricKey, number])[] = [
  ['layer4Accepted', SERVER_CONNECTIONS_ACCEPTED],
  ['layer4Aborted', SERVER_ABORTED],
  ['layer4BadHeaders', SERVER_BAD_REQUESTS],
  ['layer4Timeouts', SERVER_TIMEOUTS],
  ['layer4NoUpstream', SERVER_NO_UPSTREAM],
  ['layer4BytesIn', SERVER_BYTES_IN],
  ['layer4BytesOut', SERVER_BYTES_OUT],
];

const DATAGRAMS: readonly (readonly [direction: string, word: number])[] = [
  ['in', SERVER_DATAGRAMS_IN],
  ['out', SERVER_DATAGRAMS_OUT],
  ['dropped', SERVER_DATAGRAMS_DROPPED],
];

/** Adds what the certificates in force are. Names that clients brought have one series together. */
export function collectCertificates(plane: ControlPlane, sample: Sample): void {
  const all = plane.certificates();
  for (const { label, expiresAt, renewals, failures } of [
    ...all.filter(({ onDemand }) => !onDemand),
    ...together(all.filter(({ onDemand }) => onDemand)),
  ]) {
    if (Number.isFinite(expiresAt)) sample.set('certificateExpiry', [label], expiresAt / 1000);
    sample.set('certificateRenewals', [label, 'success'], renewals);
    sample.set('certificateRenewals', [label, 'failure'], failures);
  }
}

type CertificateSums = Pick<CertificateStatus, 'label' | 'expiresAt' | 'renewals' | 'failures'>;

function together(all: readonly CertificateStatus[]): CertificateSums[] {
  if (all.length === 0) return [];
  const sum = (key: 'renewals' | 'failures'): number => all.reduce((total, one) => total + one[key], 0);
  const expiresAt = all.reduce((first, one) => Math.min(first, one.expiresAt), Infinity);
  return [{ label: 'on_demand', expiresAt, renewals: sum('renewals'), failures: sum('failures') }];
}

/** Adds what the servers of the config in force counted, all workers together. */
export function collectServers(plane: ControlPlane, sample: Sample): void {
  for (const [server, row] of plane.serverRows()) collectServer(plane.table, server, row, sample);
  for (const { name, tls } of plane.compiled()?.servers ?? []) {
    const row = tls === undefined ? undefined : plane.serverRows().get(name);
    if (row !== undefined) collectHandshakes(plane.table, 'tlsHandshakes', name, row, sample);
  }
  for (const { name, section } of plane.compiled()?.layer4 ?? []) {
    const content = plane.compiled()?.sections.get(section);
    const row = plane.layer4Rows().get(name);
    if (row !== undefined && content?.kind === 'layer4' && endsTls(content.routes)) {
      collectHandshakes(plane.table, 'layer4TlsHandshakes', name, row, sample);
    }
  }
  const udp = plane.compiled()?.layer4.filter(({ network }) => network === 'udp') ?? [];
  const names = new Set(udp.map(({ name }) => name));
  for (const [server, row] of plane.layer4Rows()) collectLayer4(plane.table, server, row, names.has(server), sample);
}

/** Whether a `tls` handler is in them. */
function endsTls(routes: readonly Layer4RoutePlan[]): boolean {
  return routes.some(({ handle }) =>
    handle.some((plan) => plan.handler === 'tls' || (plan.handler === 'subroute' && endsTls(plan.routes))),
  );
}

function collectHandshakes(
  table: StateTable,
  key: 'tlsHandshakes' | 'layer4TlsHandshakes',
  server: string,
  row: number,
  sample: Sample,
): void {
  const resumed = sumServer(table, row, SERVER_HANDSHAKES_RESUMED);
  const all = sumServer(table, row, SERVER_HANDSHAKES);
  // A handshake may be counted between the two sums.
  sample.set(key, [server, 'full'], Math.max(0, all - resumed));
  sample.set(key, [server, 'resumed'], resumed);
  sample.set(key, [server, 'failed'], sumServer(table, row, SERVER_HANDSHAKES_FAILED));
}

function collectServer(table: StateTable, server: string, row: number, sample: Sample): void {
  const total = (word: number): number => sumServer(table, row, word);
  for (const [at, code] of CODE_CLASSES.entries()) {
    sample.set('requests', [server, code], total(SERVER_RESPONSES + at));
  }
  const counts = Array.from({ length: DURATION_BUCKETS.length + 1 }, (_, at) => total(SERVER_DURATION_BUCKETS + at));
  sample.histogram('requestDuration', [server], DURATION_BUCKETS, counts, total(SERVER_DURATION_SUM));
  for (const [key, word] of SERVER_TOTALS) sample.set(key, [server], total(word));
  for (const limit of HTTP_LIMITS) {
    sample.set('limitHits', [server, limit], total(SERVER_LIMITS + LIMIT_NAMES.indexOf(limit)));
  }
  sample.set('requestsActive', [server], sumServerWord(table, row, SERVER_IN_FLIGHT));
}

function collectLayer4(table: StateTable, server: string, row: number, isUdp: boolean, sample: Sample): void {
  const total = (word: number): number => sumServer(table, row, word);
  for (const [key, word] of LAYER4_TOTALS) sample.set(key, [server], total(word));
  if (isUdp) {
    for (const [direction, word] of DATAGRAMS) sample.set('layer4Datagrams', [server, direction], total(word));
  }
  for (const limit of LAYER4_LIMITS) {
    sample.set('layer4LimitHits', [server, limit], total(SERVER_LIMITS + LIMIT_NAMES.indexOf(limit)));
  }
  // A session over UDP always has a place among the counted connections.
  sample.set('layer4Active', [server], sumServerWord(table, row, isUdp ? SERVER_CONNECTIONS : SERVER_IN_FLIGHT));
}

function sumServer(table: StateTable, row: number, word: number): number {
  let sum = 0;
  for (let lane = 0; lane < table.laneCount; lane += 1) {
    const rows = table.servers(lane);
    if (rows.capacity > row) sum += rows.total(row, word);
  }
  return sum;
}

function sumServerWord(table: StateTable, row: number, word: number): number {
  let sum = 0;
  for (let lane = 0; lane < table.laneCount; lane += 1) {
    const rows = table.servers(lane);
    if (rows.capacity > row) sum += rows.load(row, word);
  }
  return sum;
}
