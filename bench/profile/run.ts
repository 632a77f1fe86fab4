/**
 * Where the time of a worker goes: `npm run build && node bench/profile/run.ts [FILE]`. Holdfast runs as
 * published, under load; its worker is profiled, FILE (default `worker.cpuprofile`) can be opened in the
 * browser's developer tools.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Profiler } from 'node:inspector';
import { startBackends } from '../e2e/backends/backend.ts';
import { beside, closeBench, openBench, type Bench } from '../e2e/bench.ts';
import { chooseGenerator } from '../e2e/load/load.ts';
import { coreLists } from '../e2e/options.ts';
import { holdfast } from '../e2e/proxies/holdfast.ts';
import { startProxy, type ProxyKind } from '../e2e/proxies/proxy.ts';
import { table } from '../e2e/table.ts';
import { hotSpots } from './hot-spots.ts';

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 4;
const PROFILE_SECONDS = 6;
const SHOWN = 45;

function profiled(kind: ProxyKind, out: string): ProxyKind {
  return {
    ...kind,
    plan(bench, port, adminPort, backends) {
      const plan = kind.plan(bench, port, adminPort, backends);
      const args = ['--import', beside(import.meta.url, 'attach.ts'), ...plan.args];
      return { ...plan, args, env: { ...plan.env, HOLDFAST_PROFILE_OUT: out } };
    },
  };
}

async function profile(bench: Bench, root: string, out: string): Promise<void> {
  const { ports } = await startBackends(bench);
  const proxy = await startProxy(bench, profiled(holdfast('holdfast', root), out), ports);
  const generator = chooseGenerator();
  await generator.run(bench, proxy.port, CONNECTIONS, WARM_UP_SECONDS);
  process.kill(proxy.running.pid, 'SIGUSR2');
  const { requests, seconds } = await generator.run(bench, proxy.port, CONNECTIONS, PROFILE_SECONDS);
  process.kill(proxy.running.pid, 'SIGUSR2');
  while (!existsSync(out) && proxy.running.alive()) await sleep(100);
  await sleep(500);
  const spots = hotSpots(JSON.parse(readFileSync(out, 'utf8')) as Profiler.Profile);
  process.stdout.write(`${(requests / seconds).toFixed(0)} requests/s while it was profiled\n\n`);
  const rows = spots.slice(0, SHOWN).map(({ name, share }) => [name, `${(share * 100).toFixed(1)} %`]);
  process.stdout.write(`${table(['function', 'self'], rows)}\n`);
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const out = resolve(process.argv[2] ?? 'worker.cpuprofile');
rmSync(out, { force: true });
const bench = openBench(coreLists());
process.on('exit', () => closeBench(bench));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));
await profile(bench, root, out);
process.exit();
