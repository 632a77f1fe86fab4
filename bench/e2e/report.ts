import type { LoadFigures, Results } from './results.ts';
import { table } from './table.ts';

/** What Holdfast is held to: CPU per request against the two references, memory of an idle connection. */
const MAX_OVER_NGINX = 1.6;
const MAX_OVER_CADDY = 0.45;
const MAX_IDLE_BYTES = 10 * 1024;

export function report(results: Results): string {
  const parts = [heading(results), loadTable(results.load)];
  if (Object.keys(results.memory).length > 0) parts.push(sizeTable(results));
  parts.push(targets(results));
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function heading(results: Results): string {
  const { rounds, seconds, connections } = results.options;
  const versions = Object.entries(results.versions).map(([name, version]) => `${name} ${version}`);
  return [
    results.machine,
    versions.join(', '),
    `load: ${results.generator}, ${connections} connections, ${rounds} rounds of ${seconds} s; backends: ${results.backends}`,
    `load average before the run: ${results.loadAverage.join(' ')}`,
    ...results.skipped.map((line) => `skipped: ${line}`),
  ].join('\n');
}

function loadTable(load: Readonly<Record<string, LoadFigures>>): string {
  const header = [
    '',
    'requests/s',
    'CPU µs',
    'user',
    'system',
    'CPU ×nginx',
    'CPU ×caddy',
    'rate ×nginx',
    'p50 ms',
    'p99 ms',
    'failed',
  ];
  const rows = Object.entries(load).map(([name, figures]) => [
    name,
    figures.requestsPerSecond.toFixed(0),
    figures.cpuUs.toFixed(1),
    figures.userUs.toFixed(1),
    figures.systemUs.toFixed(1),
    ratio(figures.cpuOverNginx),
    ratio(figures.cpuOverCaddy),
    ratio(figures.rateOverNginx),
    figures.p50Ms.toFixed(2),
    figures.p99Ms.toFixed(2),
    String(figures.failures),
  ]);
  return table(header, rows);
}

function sizeTable({ memory, startMs }: Results): string {
  const header = ['', 'resident MiB', 'KiB per idle connection', 'first answer ms'];
  const rows = Object.entries(memory).map(([name, { restingBytes, bytesPerIdleConnection }]) => [
    name,
    (restingBytes / 2 ** 20).toFixed(1),
    (bytesPerIdleConnection / 1024).toFixed(1),
    (startMs[name] ?? Number.NaN).toFixed(0),
  ]);
  return table(header, rows);
}

function targets(results: Results): string {
  const figures = results.load['holdfast'];
  const lines: string[] = [];
  if (results.bytesPerWorker !== null) {
    lines.push(`one more worker of holdfast: ${(results.bytesPerWorker / 2 ** 20).toFixed(1)} MiB`);
  }
  const judge = (what: string, value: number | null | undefined, max: number, unit: string): void => {
    if (value === null || value === undefined) return;
    lines.push(
      `${what}: ${value.toFixed(2)} ${unit} (target: at most ${max} ${unit}) ${value <= max ? 'met' : 'MISSED'}`,
    );
  };
  judge('CPU per request', figures?.cpuOverNginx, MAX_OVER_NGINX, '× nginx');
  judge('CPU per request', figures?.cpuOverCaddy, MAX_OVER_CADDY, '× caddy');
  const idle = results.memory['holdfast']?.bytesPerIdleConnection;
  judge('idle connection', idle === undefined ? null : idle / 1024, MAX_IDLE_BYTES / 1024, 'KiB');
  return lines.join('\n');
}

function ratio(value: number | null): string {
  return value === null ? '-' : value.toFixed(2);
}
