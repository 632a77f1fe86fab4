import { METRICS, type MetricKey } from './names.ts';

/** One line of the exposition. `name` differs from the metric's own for the parts of a histogram. */
export interface SeriesValue {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The values of one scrape, by metric. */
export class Sample {
  readonly #values = new Map<MetricKey, SeriesValue[]>();

  /** Adds one value; `labels` are the values of the metric's labels in the order of the table. */
  set(key: MetricKey, labels: readonly string[], value: number): void {
    this.#push(key, '', this.#labels(key, labels), value);
  }

  /**
   * Adds a histogram.
   * @param counts requests per bucket, not cumulative, one more than `bounds` (the last is +Inf)
   */
  histogram(
    key: MetricKey,
    labels: readonly string[],
    bounds: readonly number[],
    counts: readonly number[],
    sum: number,
  ): void {
    const base = this.#labels(key, labels);
    let cumulative = 0;
    for (const [at, count] of counts.entries()) {
      cumulative += count;
      const bound = bounds[at];
      this.#push(key, '_bucket', { ...base, le: bound === undefined ? '+Inf' : String(bound) }, cumulative);
    }
    this.#push(key, '_sum', base, sum);
    // From the buckets, not from a word of its own: the two may differ by a request in flight,
    // and `_count` must equal the last bucket.
    this.#push(key, '_count', base, cumulative);
  }

  values(key: MetricKey): readonly SeriesValue[] {
    return this.#values.get(key) ?? [];
  }

  #labels(key: MetricKey, values: readonly string[]): Record<string, string> {
    return Object.fromEntries(METRICS[key].labels.map((label, at) => [label, values[at] ?? '']));
  }

  #push(key: MetricKey, suffix: string, labels: Readonly<Record<string, string>>, value: number): void {
    const list = this.#values.get(key);
    const entry: SeriesValue = { name: METRICS[key].name + suffix, labels, value };
    if (list === undefined) this.#values.set(key, [entry]);
    else list.push(entry);
  }
}
