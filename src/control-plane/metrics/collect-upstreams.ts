import {
  FACT_AFFINITY_HIT,
  FACT_AFFINITY_MOVED,
  FACT_AFFINITY_NEW,
  FACT_BROKEN,
  FACT_BYTES_RECEIVED,
  FACT_BYTES_SENT,
  FACT_CONNECTIONS,
  FACT_DIALS,
  FACT_DIAL_FAILURES,
  FACT_INVALID_RESPONSES,
  FACT_IN_FLIGHT,
  FACT_QUEUED,
  FACT_QUEUE_TIMEOUTS,
  FACT_REQUESTS,
  FACT_RESPONSES,
  FACT_RETRIES,
  FACT_REUSES,
  FACT_SPILLS,
  FACT_TIMEOUTS,
  FACT_WAITING,
  SHAPES,
} from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { ControlPlane, UpstreamStatus } from '../types.ts';
import { CODE_CLASSES, type MetricKey } from './names.ts';
import type { Sample } from './sample.ts';
import type { UpstreamCounters } from './totals.ts';

/** Totals of an upstream: metric, second label value, word. */
const UPSTREAM_TOTALS: readonly (readonly [MetricKey, string | null, number])[] = [
  ['upstreamRequests', null, FACT_REQUESTS],
  ...CODE_CLASSES.map((code, at): [MetricKey, string, number] => ['upstreamResponses', code, FACT_RESPONSES + at]),
  ['upstreamFailures', 'dial', FACT_DIAL_FAILURES],
  ['upstreamFailures', 'broken', FACT_BROKEN],
  ['upstreamFailures', 'invalid', FACT_INVALID_RESPONSES],
  ['upstreamFailures', 'timeout', FACT_TIMEOUTS],
  ['upstreamRetries', null, FACT_RETRIES],
  ['upstreamDials', 'new', FACT_DIALS],
  ['upstreamDials', 'reused', FACT_REUSES],
  ['upstreamBytesSent', null, FACT_BYTES_SENT],
  ['upstreamBytesReceived', null, FACT_BYTES_RECEIVED],
  ['affinity', 'hit', FACT_AFFINITY_HIT],
  ['affinity', 'new', FACT_AFFINITY_NEW],
  ['affinity', 'moved', FACT_AFFINITY_MOVED],
  ['affinitySpills', null, FACT_SPILLS],
  ['upstreamQueued', null, FACT_QUEUED],
  ['upstreamQueueTimeouts', null, FACT_QUEUE_TIMEOUTS],
];

const MS_PER_SECOND = 1000;

const STATES: readonly UpstreamStatus['state'][] = ['up', 'down', 'initial', 'drain', 'maint', 'struck'];

/**
 * Adds what is known of every upstream of the config in force, by upstream and by (pool, upstream).
 * `breathe` is awaited between upstreams. A reload may happen meanwhile, so rows are looked up each time.
 */
export async function collectUpstreams(
  plane: ControlPlane,
  counters: UpstreamCounters,
  sample: Sample,
  breathe: () => Promise<void>,
): Promise<void> {
  const byText = new Map<string, UpstreamStatus[]>();
  const bestEffort = new Map<string, boolean>();
  for await (const status of plane.eachUpstream()) {
    // What requests name is one upstream here, whatever it comes to: clients must not make series.
    const label = status.template ?? status.upstream;
    const places = byText.get(label);
    const isNamed = status.template !== undefined;
    // A pool may name one upstream twice; its series can be there only once.
    if (!isNamed && places?.some(({ pool }) => pool === status.pool) !== true) collectPlace(status, sample);
    if (places === undefined) byText.set(label, [status]);
    else places.push(status);
    if (!isNamed) bestEffort.set(status.pool, status.bestEffort);
  }
  for (const [pool, on] of bestEffort) sample.set('bestEffort', [pool], on ? 1 : 0);
  counters.keepOnly(new Set(byText.keys()));
  for (const [upstream, places] of byText) {
    sample.set('upstreamHealthy', [upstream], places.every(isHealthy) ? 1 : 0);
    collectFacts(plane, upstream, places, counters, sample);
    await breathe();
  }
}

/**
 * Healthy by its checks. `drain` and `maint` hide the verdict in `state`, and say nothing about
 * health: then the checks of its endpoints are asked.
 */
export function isHealthy(status: UpstreamStatus): boolean {
  if (status.state !== 'drain' && status.state !== 'maint') return status.state === 'up';
  return status.endpoints.some((endpoint) => endpoint.checks.every((check) => check.verdict === 'up'));
}

/** The words of a slot are shared by all pools, so an address is counted once however many name it. */
function collectFacts(
  plane: ControlPlane,
  upstream: string,
  places: readonly UpstreamStatus[],
  counters: UpstreamCounters,
  sample: Sample,
): void {
  const { table } = plane;
  const addresses = new Set(places.flatMap((place) => place.endpoints.map((endpoint) => endpoint.address)));
  let active = 0;
  let connections = 0;
  let waiting = 0;
  for (const address of addresses) {
    const slot = plane.slotRow(address);
    if (slot === undefined) continue;
    active += table.sumFacts(slot, FACT_IN_FLIGHT);
    connections += table.sumFacts(slot, FACT_CONNECTIONS);
    waiting += table.sumFacts(slot, FACT_WAITING);
    counters.add(upstream, address, readTotals(table, slot));
  }
  sample.set('upstreamActive', [upstream], active);
  sample.set('upstreamConnections', [upstream], connections);
  sample.set('upstreamWaiting', [upstream], waiting);
  const totals = counters.totals(upstream);
  for (const [key, label, word] of UPSTREAM_TOTALS) {
    sample.set(key, label === null ? [upstream] : [upstream, label], totals[word] ?? 0);
  }
}

function readTotals(table: StateTable, slot: number): Float64Array {
  return Float64Array.from({ length: SHAPES.facts.doubles }, (_, word) => table.sumFactTotals(slot, word));
}

function collectPlace(status: UpstreamStatus, sample: Sample): void {
  sample.set('upstreamWeight', [status.pool, status.upstream], status.weight);
  const isFull = status.inFlight >= (status.maxRequests ?? Infinity);
  sample.set('upstreamFull', [status.pool, status.upstream], isFull ? 1 : 0);
  if (status.passiveFails !== undefined) {
    sample.set('passiveFails', [status.pool, status.upstream], status.passiveFails);
  }
  collectChecks(status, sample);
  for (const state of STATES) {
    sample.set('upstreamState', [status.pool, status.upstream, state], status.state === state ? 1 : 0);
  }
}

/** The worst address speaks for the upstream: it is the one that somebody has to look at. */
function collectChecks(status: UpstreamStatus, sample: Sample): void {
  const labels = [status.pool, status.upstream];
  const checks = status.endpoints.flatMap((endpoint) => endpoint.checks);
  if (checks.length === 0) return;
  sample.set('checkLoss', labels, Math.max(...checks.map((check) => check.loss)));
  const times = checks.flatMap(({ roundTripMs, jitterMs }) =>
    roundTripMs === null ? [] : [[roundTripMs, jitterMs ?? 0]],
  );
  if (times.length === 0) return;
  sample.set('checkRoundTrip', labels, Math.max(...times.map(([roundTripMs = 0]) => roundTripMs)) / MS_PER_SECOND);
  sample.set('checkJitter', labels, Math.max(...times.map(([, jitterMs = 0]) => jitterMs)) / MS_PER_SECOND);
}
