/** What an exchange adds to the state table when it begins, when an upstream answered, and when it is over. */
import {
  DURATION_BUCKETS,
  FACT_AFFINITY_HIT,
  FACT_AFFINITY_MOVED,
  FACT_AFFINITY_NEW,
  FACT_BROKEN,
  FACT_INVALID_RESPONSES,
  FACT_RESPONSES,
  FACT_TIMEOUTS,
  SERVER_ABORTED,
  SERVER_BYTES_OUT,
  SERVER_DURATION_BUCKETS,
  SERVER_DURATION_COUNT,
  SERVER_DURATION_SUM,
  SERVER_IN_FLIGHT,
  SERVER_RESPONSES,
} from '../../shared/state-table/layout.ts';
import type { Affinity } from '../select/policy.ts';
import type { Generation, HttpServer } from '../server.ts';
import type { World } from '../world.ts';
import type { UpstreamFailure } from './sides.ts';

/** answered: a whole response. cut: broken off by the upstream. aborted: the client went away. tunnel: an upgraded connection ended. */
export type ExchangeOutcome = 'answered' | 'cut' | 'aborted' | 'tunnel';

export function exchangeBegan(world: World, server: HttpServer, generation: Generation): void {
  world.servers.add(server.row, SERVER_IN_FLIGHT, 1);
  world.exchangeStarted(generation);
}

/** A tunnel's life is no request duration: it stays out of the histogram. */
export function exchangeLeft(
  world: World,
  server: HttpServer,
  generation: Generation,
  outcome: ExchangeOutcome,
  status: number,
  durationMs: number,
  sentBytes: number,
): void {
  const { servers } = world;
  const { row } = server;
  servers.add(row, SERVER_IN_FLIGHT, -1);
  servers.count(row, SERVER_BYTES_OUT, sentBytes);
  if (outcome === 'aborted') servers.count(row, SERVER_ABORTED, 1);
  else servers.count(row, SERVER_RESPONSES + classOf(status), 1);
  if (outcome !== 'tunnel' && outcome !== 'aborted') {
    const seconds = durationMs / 1000;
    servers.count(row, SERVER_DURATION_SUM, seconds);
    servers.count(row, SERVER_DURATION_COUNT, 1);
    servers.count(row, SERVER_DURATION_BUCKETS + bucketOf(seconds), 1);
  }
  world.exchangeEnded(generation);
}

/** An upstream answered. */
export function countResponse(world: World, slot: number, status: number, affinity: Affinity): void {
  const { facts } = world;
  facts.count(slot, FACT_RESPONSES + classOf(status), 1);
  if (affinity === 'hit') facts.count(slot, FACT_AFFINITY_HIT, 1);
  else if (affinity === 'new') facts.count(slot, FACT_AFFINITY_NEW, 1);
  else if (affinity === 'moved') facts.count(slot, FACT_AFFINITY_MOVED, 1);
}

/** A try failed before its response. Returns the status a client gets for it when nobody else is asked. */
export function countFailure(
  world: World,
  failure: UpstreamFailure,
  slot: number,
  upstream: string,
  detail: string,
): number {
  const { facts } = world;
  if (failure === 'timeout') {
    facts.count(slot, FACT_TIMEOUTS, 1);
    return 504;
  }
  if (failure === 'invalid') {
    facts.count(slot, FACT_INVALID_RESPONSES, 1);
    world.upstreamInvalid(slot, upstream, detail);
  } else if (failure !== 'cut') {
    facts.count(slot, FACT_BROKEN, 1);
  }
  return 502;
}

/** 0 … 4 for 1xx … 5xx. Codes from 600 up have no class (RFC 9110 section 15): they count with 5xx. */
function classOf(status: number): number {
  return Math.min(4, Math.max(0, Math.floor(status / 100) - 1));
}

function bucketOf(seconds: number): number {
  let bucket = 0;
  while (bucket < DURATION_BUCKETS.length && seconds > DURATION_BUCKETS[bucket]!) bucket += 1;
  return bucket;
}
