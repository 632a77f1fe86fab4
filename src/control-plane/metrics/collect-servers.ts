import {
  DURATION_BUCKETS,
  SERVER_ABORTED,
  SERVER_BAD_REQUESTS,
  SERVER_BYTES_IN,
  SERVER_BYTES_OUT,
  SERVER_CONNECTIONS_ACCEPTED,
  SERVER_DURATION_BUCKETS,
  SERVER_DURATION_SUM,
  LIMIT_NAMES,
  SERVER_IN_FLIGHT,
  SERVER_LIMITS,
  SERVER_NO_UPSTREAM,
  SERVER_RESPONSES,
  SERVER_TIMEOUTS,
} from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { ControlPlane } from '../types.ts';
import { CODE_CLASSES, type MetricKey } from './names.ts';
import type { Sample } from './sample.ts';

/** Totals of a server that are one word each. */
const SERVER_TOTALS: readonly (readonly [MetricKey, number])[] = [
  ['requestsAborted', SERVER_ABORTED],
  ['badRequests', SERVER_BAD_REQUESTS],
  ['serverTimeouts', SERVER_TIMEOUTS],
  ['noUpstream', SERVER_NO_UPSTREAM],
  ['accepted', SERVER_CONNECTIONS_ACCEPTED],
  ['bytesIn', SERVER_BYTES_IN],
  ['bytesOut', SERVER_BYTES_OUT],
];

/** Adds what the servers of the config in force counted, all workers together. */
export function collectServers(plane: ControlPlane, sample: Sample): void {
  for (const [server, row] of plane.serverRows()) collectServer(plane.table, server, row, sample);
}

function collectServer(table: StateTable, server: string, row: number, sample: Sample): void {
  const total = (word: number): number => sumServer(table, row, word);
  for (const [at, code] of CODE_CLASSES.entries()) {
    sample.set('requests', [server, code], total(SERVER_RESPONSES + at));
  }
  const counts = Array.from({ length: DURATION_BUCKETS.length + 1 }, (_, at) => total(SERVER_DURATION_BUCKETS + at));
  sample.histogram('requestDuration', [server], DURATION_BUCKETS, counts, total(SERVER_DURATION_SUM));
  for (const [key, word] of SERVER_TOTALS) sample.set(key, [server], total(word));
  for (const [at, limit] of LIMIT_NAMES.entries()) {
    sample.set('limitHits', [server, limit], total(SERVER_LIMITS + at));
  }
  sample.set('requestsActive', [server], sumServerInFlight(table, row));
}

function sumServer(table: StateTable, row: number, word: number): number {
  let sum = 0;
  for (let lane = 0; lane < table.laneCount; lane += 1) {
    const rows = table.servers(lane);
    if (rows.capacity > row) sum += rows.total(row, word);
  }
  return sum;
}

function sumServerInFlight(table: StateTable, row: number): number {
  let sum = 0;
  for (let lane = 0; lane < table.laneCount; lane += 1) {
    const rows = table.servers(lane);
    if (rows.capacity > row) sum += rows.load(row, SERVER_IN_FLIGHT);
  }
  return sum;
}
