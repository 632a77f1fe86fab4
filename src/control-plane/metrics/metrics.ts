import { Registry, type Gauge } from '@prometheus-io/client';
import type { Clock } from '../../shared/clock.ts';
import { SHAPES } from '../../shared/state-table/layout.ts';
import type { ControlPlane } from '../types.ts';
import { collectProcess } from './collect-process.ts';
import { collectCertificates, collectServers } from './collect-servers.ts';
import { collectUpstreams } from './collect-upstreams.ts';
import { METRICS, type MetricKey } from './names.ts';
import { Sample, type SeriesValue } from './sample.ts';
import { slicedBy } from './slices.ts';
import { UpstreamCounters } from './totals.ts';

/** Lines made in one turn of the event loop: about 2 ms. */
const SERIES_PER_PIECE = 1000;
/** HELP and TYPE. */
const HEADER_LINES = 2;

/** The exposition of one balancer. Values are read at scrape time; nothing is counted here. */
export class Metrics {
  readonly contentType: string = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #plane: ControlPlane;
  readonly #clock: Clock;
  readonly #version: string;
  readonly #counters = new UpstreamCounters(SHAPES.facts.doubles);

  constructor(plane: ControlPlane, clock: Clock, version: string) {
    this.#plane = plane;
    this.#clock = clock;
    this.#version = version;
  }

  /** The Prometheus text of now. Series of upstreams and servers that a reload removed are gone. */
  async text(): Promise<string> {
    const pieces: string[] = [];
    for await (const piece of this.pieces()) pieces.push(piece);
    return pieces.join('');
  }

  /** The same in pieces, with pauses for other work. */
  async *pieces(): AsyncGenerator<string> {
    const breathe = slicedBy(this.#clock);
    const sample = new Sample();
    collectProcess(this.#plane, this.#version, this.#clock, sample);
    collectServers(this.#plane, sample);
    collectCertificates(this.#plane, sample);
    await collectUpstreams(this.#plane, this.#counters, sample, breathe);
    for (const key of Object.keys(METRICS) as MetricKey[]) {
      yield* expose(key, sample.values(key), breathe);
    }
  }
}

/** The lines of a metric, `SERIES_PER_PIECE` at a time; its HELP and TYPE stand before the first of them only. */
async function* expose(
  key: MetricKey,
  values: readonly SeriesValue[],
  breathe: () => Promise<void>,
): AsyncGenerator<string> {
  let from = 0;
  do {
    const text = await expositionOf(key, values.slice(from, from + SERIES_PER_PIECE));
    yield `${from === 0 ? text : text.split('\n').slice(HEADER_LINES).join('\n')}\n`;
    from += SERIES_PER_PIECE;
    await breathe();
  } while (from < values.length);
}

/** A registry of its own for every piece: scrapes may overlap, and share nothing. */
function expositionOf(key: MetricKey, series: readonly SeriesValue[]): Promise<string> {
  const { name, help, type } = METRICS[key];
  const values = series.map(({ name: metricName, labels, value }) => ({ metricName, labels, value }));
  const source = { name, help, type, aggregator: 'sum', get: () => ({ name, help, type, values }) };
  const registry = new Registry();
  // The typings know only the package's own classes; the registry asks for nothing but `name` and `get`.
  registry.registerMetric(source as unknown as Gauge);
  return registry.getSingleMetricAsString(name);
}
