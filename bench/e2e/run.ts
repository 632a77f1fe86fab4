/** Holdfast against other proxies on this machine, loopback only: `npm run bench -- --help`. */
import { fileURLToPath } from 'node:url';
import { startBackends } from './backends/backend.ts';
import { closeBench, openBench, type Bench } from './bench.ts';
import { checkProxy } from './check.ts';
import { chooseGenerator } from './load/load.ts';
import { measureMemory, measureWorker, type Memory } from './memory.ts';
import { coreLists, readOptions, USAGE, type BenchOptions } from './options.ts';
import { caddy } from './proxies/caddy.ts';
import { haproxy } from './proxies/haproxy.ts';
import { holdfast } from './proxies/holdfast.ts';
import { nginx } from './proxies/nginx.ts';
import { httpProxy, nodeHttp } from './proxies/node-proxies.ts';
import { startProxy, type ProxyKind } from './proxies/proxy.ts';
import { report } from './report.ts';
import { describeMachine, loadAverage, loadFigures, type Results } from './results.ts';
import { runRounds, type Samples } from './rounds.ts';
import { measureStart } from './start-time.ts';
import { readVersions } from './versions.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

function proxyKinds(options: BenchOptions): ProxyKind[] {
  const all = [nginx, haproxy, caddy, nodeHttp, httpProxy, holdfast('holdfast', ROOT)];
  if (options.against !== null) all.push(holdfast('holdfast-b', options.against));
  const unknown = options.only.find((name) => !all.some((kind) => kind.name === name));
  if (unknown !== undefined)
    throw new Error(`--only: '${unknown}' is none of ${all.map(({ name }) => name).join(', ')}`);
  return options.only.length === 0 ? all : all.filter(({ name }) => options.only.includes(name));
}

async function measureLoad(
  bench: Bench,
  kinds: readonly ProxyKind[],
  backends: readonly number[],
  options: BenchOptions,
): Promise<Samples> {
  const proxies = [];
  for (const kind of kinds) {
    const proxy = await startProxy(bench, kind, backends);
    await checkProxy(proxy);
    progress(`${kind.name}: answers, forwarding fields and affinity are right`);
    proxies.push(proxy);
  }
  const samples = await runRounds(bench, proxies, chooseGenerator(), options, progress);
  for (const { running } of proxies) await running.end();
  return samples;
}

async function measureSizes(
  bench: Bench,
  kinds: readonly ProxyKind[],
  backends: readonly number[],
  options: BenchOptions,
): Promise<Pick<Results, 'memory' | 'startMs' | 'bytesPerWorker'>> {
  const memory: Record<string, Memory> = {};
  const startMs: Record<string, number> = {};
  for (const kind of kinds) {
    progress(`${kind.name}: memory and start`);
    memory[kind.name] = await measureMemory(bench, kind, backends, chooseGenerator(), options.idle);
    startMs[kind.name] = await measureStart(bench, kind, backends, options.starts);
  }
  const ours = kinds.some(({ name }) => name === 'holdfast');
  const withWorkers = (workers: number): ProxyKind => holdfast('holdfast', ROOT, workers);
  return { memory, startMs, bytesPerWorker: ours ? await measureWorker(bench, withWorkers, backends) : null };
}

async function measure(bench: Bench, options: BenchOptions): Promise<Results> {
  const load = loadAverage();
  const kinds = proxyKinds(options);
  const skipped = kinds.flatMap((kind) => (kind.missing() === '' ? [] : [`${kind.name}: ${kind.missing()}`]));
  for (const line of skipped) progress(`skipped ${line}`);
  const usable = kinds.filter((kind) => kind.missing() === '');
  const { kind, ports } = await startBackends(bench);
  const samples = await measureLoad(bench, usable, ports, options);
  const sizes = options.loadOnly
    ? { memory: {}, startMs: {}, bytesPerWorker: null }
    : await measureSizes(bench, usable, ports, options);
  return {
    machine: describeMachine(),
    versions: readVersions(),
    loadAverage: load,
    generator: chooseGenerator().name,
    backends: kind,
    options,
    load: loadFigures(samples),
    ...sizes,
    skipped,
  };
}

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) {
    process.stdout.write(USAGE);
    return;
  }
  const options = readOptions(args);
  const bench = openBench(coreLists());
  process.on('exit', () => closeBench(bench));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));
  const results = await measure(bench, options);
  process.stdout.write(options.json ? `${JSON.stringify(results, null, 2)}\n` : report(results));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
