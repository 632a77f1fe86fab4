import { Registry, type Gauge } from '@prometheus-io/client';
import type { Clock } from '../../shared/clock.ts';
import { SHAPES } from '../../shared/state-table/layout.ts';
import type { ControlPlane } from '../types.ts';
import { collectProcess } from './collect-process.ts';
import { collectServers } from './collect-servers.ts';
import { collectUpstreams } from './collect-upstreams.ts';
import { METRICS, type MetricKey } from './names.ts';
import { Sample } from './sample.ts';
import { slicedBy } from './slices.ts';
import { UpstreamCounters } from './totals.ts';

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
    const breathe = slicedBy(this.#clock);
    const sample = new Sample();
    collectProcess(this.#plane, this.#version, this.#clock, sample);
    collectServers(this.#plane, sample);
    await collectUpstreams(this.#plane, this.#counters, sample, breathe);
    return expose(sample, breathe);
  }
}

/** A registry of its own for every scrape: scrapes may overlap, and share nothing. */
async function expose(sample: Sample, breathe: () => Promise<void>): Promise<string> {
  const registry = new Registry();
  const blocks: string[] = [];
  for (const key of Object.keys(METRICS) as MetricKey[]) {
    registerSource(registry, key, sample);
    blocks.push(await registry.getSingleMetricAsString(METRICS[key].name));
    await breathe();
  }
  return `${blocks.join('\n')}\n`;
}

function registerSource(registry: Registry, key: MetricKey, sample: Sample): void {
  const { name, help, type } = METRICS[key];
  const values = sample.values(key).map(({ name: metricName, labels, value }) => ({ metricName, labels, value }));
  const source = { name, help, type, aggregator: 'sum', get: () => ({ name, help, type, values }) };
  // The typings know only the package's own classes; the registry asks for nothing but `name` and `get`.
  registry.registerMetric(source as unknown as Gauge);
}
