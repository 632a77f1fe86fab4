import { METRICS, type MetricDefinition } from './names.ts';

const HEAD = `# Metrics

<!-- Made from src/control-plane/metrics/names.ts; a test compares the two. -->

\`GET /metrics\` of the admin API answers in the Prometheus text format.

- The number of series depends on the configuration and, for \`dynamic\` upstreams, on what DNS names (1024 of a pool at most), never on what clients or
  upstreams send.
- \`upstream\` is the configured text. Two spellings of one address are two series that show the same traffic. Upstreams that requests name are one, the text with placeholders; they have no series by \`pool\`.
- \`pool\` is a short hash of a pool and its policy, as \`GET /upstreams\` shows it. It changes when the pool changes.
- Counters never go down while the process runs, also over reloads, worker restarts and changed addresses of a name.
- The series of servers and upstreams that a reload removed end. When they come back, they may count from zero.

| name | type | labels | meaning |
|---|---|---|---|
`;

/** The text of `docs/reference/metrics.md`. */
export function metricsReferencePage(): string {
  return HEAD + Object.values(METRICS).map(tableRow).join('');
}

function tableRow({ name, type, labels, help }: MetricDefinition): string {
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |\n`;
}
