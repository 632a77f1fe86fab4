/**
 * What checking many servers costs: `node bench/health/run.ts [--servers N] [--seconds N] [--interval MS] [--json]`.
 * Holdfast has nothing else to do meanwhile; what it costs without checks is measured too.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { beside, closeBench, openBench, writeConfig, type Bench } from '../e2e/bench.ts';
import { ask } from '../e2e/client.ts';
import { coreLists } from '../e2e/options.ts';
import { freePorts } from '../e2e/ports.ts';
import { askUntilAnswered } from '../e2e/ready.ts';
import { table } from '../e2e/table.ts';
import { cpuTimes } from '../e2e/usage.ts';
import { addressOf } from './addresses.ts';

const ENTRY = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** First probes, and the just-in-time compiler. */
const WARM_UP_MS = 5000;
/** The times that are shown are whole milliseconds. */
const CLOCK_STEP_MS = 1;
/** Share of a core that 500 servers checked every second may cost. */
const TARGET = 0.25;

interface Options {
  readonly servers: number;
  readonly seconds: number;
  readonly intervalMs: number;
  readonly json: boolean;
}

interface Seen {
  readonly probes: number;
  readonly probed: number;
}

interface Figures extends Seen {
  readonly name: string;
  /** Share of one core, all threads of the process. */
  readonly core: number;
  /** Probes that began before the last one of the same server had ended. */
  readonly overlaps: number;
}

const CHECKS: readonly (readonly [name: string, block: string])[] = [
  ['no check', ''],
  ['tcp', 'health tcp {\nINTERVAL\n}'],
  ['tcp with an answer', 'health tcp {\nINTERVAL\nsend "GET / HTTP/1.0\\r\\n\\r\\n"\nexpect 200\nclose fin\n}'],
  ['http', 'health http {\nINTERVAL\npath /healthz\n}'],
];

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      servers: { type: 'string', default: '500' },
      seconds: { type: 'string', default: '20' },
      interval: { type: 'string', default: '1000' },
      json: { type: 'boolean', default: false },
    },
  });
  const [servers, seconds, intervalMs] = [values.servers, values.seconds, values.interval].map(Number);
  if (!(servers! >= 1 && servers! <= 5000 && seconds! >= 1 && intervalMs! >= 100)) {
    throw new Error('--servers 1 to 5000, --seconds from 1, --interval from 100');
  }
  return { servers: servers!, seconds: seconds!, intervalMs: intervalMs!, json: values.json };
}

interface Servers {
  readonly port: number;
  readonly askPort: number;
}

/** The servers, in a process of their own. */
async function startServers(bench: Bench, count: number): Promise<Servers> {
  const [port = 0, askPort = 0] = await freePorts(2);
  const args = [beside(import.meta.url, 'servers.ts'), ...[port, count, askPort].map(String)];
  const running = bench.processes.start({ command: process.execPath, args, cores: bench.otherCores });
  await askUntilAnswered(askPort, '/', running, 'the process of the servers');
  return { port, askPort };
}

/** What the servers have seen since they were asked last. */
async function seenBy({ askPort }: Servers): Promise<Seen> {
  return JSON.parse((await ask(askPort, '/')).body) as Seen;
}

interface KeptResult {
  readonly at: string;
  readonly round_trip_ms: number | null;
}

interface ShownUpstream {
  readonly endpoints: readonly { readonly checks: readonly { readonly results: readonly KeptResult[] }[] }[];
}

/** Among the last results of every server. */
async function overlapsOf(admin: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${admin}/upstreams`);
  const upstreams = (await response.json()) as readonly ShownUpstream[];
  const checks = upstreams.flatMap(({ endpoints }) => endpoints.flatMap((endpoint) => endpoint.checks));
  let overlaps = 0;
  for (const { results } of checks) {
    for (const [index, { at, round_trip_ms: ms }] of results.entries()) {
      const before = results[index - 1];
      if (before !== undefined && Date.parse(at) - (ms ?? 0) < Date.parse(before.at) - CLOCK_STEP_MS) overlaps += 1;
    }
  }
  return overlaps;
}

function configOf(block: string, port: number, admin: number, { servers, intervalMs }: Options): string {
  const upstreams = Array.from({ length: servers }, (_, index) => `${addressOf(index)}:${port}`).join(' ');
  const check = block.replace('INTERVAL', `interval ${intervalMs}ms\ntimeout 5s`);
  return `{
	admin localhost:${admin}
	layer4 {
		127.0.0.1:0 {
			route {
				proxy ${upstreams} {
					lb_policy ip_hash
					${check}
				}
			}
		}
	}
}
`;
}

async function measure(
  bench: Bench,
  servers: Servers,
  name: string,
  block: string,
  options: Options,
): Promise<Figures> {
  const [admin = 0] = await freePorts(1);
  const config = writeConfig(bench, `${admin}.Caddyfile`, configOf(block, servers.port, admin, options));
  const running = bench.processes.start({
    command: process.execPath,
    args: [ENTRY, 'run', '--config', config, '--adapter', 'caddyfile', '--workers', '1'],
    env: { XDG_DATA_HOME: join(bench.folder, 'data') },
    cores: bench.proxyCores,
  });
  await sleep(WARM_UP_MS);
  await seenBy(servers);
  const before = cpuTimes(running.pid);
  const startedAt = performance.now();
  await sleep(options.seconds * 1000);
  const after = cpuTimes(running.pid);
  const elapsedUs = (performance.now() - startedAt) * 1000;
  const seen = await seenBy(servers);
  const overlaps = await overlapsOf(admin);
  if (!running.alive()) throw new Error(`holdfast ended: ${running.output()}`);
  await running.end();
  const cpuUs = after.userUs + after.systemUs - before.userUs - before.systemUs;
  return { name, core: cpuUs / elapsedUs, overlaps, ...seen };
}

function report(figures: readonly Figures[], { servers, seconds, intervalMs }: Options): string {
  const rows = figures.map(({ name, core, probes, probed, overlaps }) => [
    name,
    `${(core * 100).toFixed(1)} %`,
    (probes / seconds).toFixed(0),
    probes === 0 ? '-' : (((core - figures[0]!.core) * seconds * 1e6) / probes).toFixed(0),
    String(probed),
    String(overlaps),
  ]);
  const header = ['', 'of a core', 'probes/s', 'CPU µs a probe', 'servers probed', 'overlaps'];
  const most = Math.max(...figures.map(({ core }) => core));
  const overlapped = figures.some(({ overlaps }) => overlaps > 0);
  return `${servers} servers, one probe each every ${intervalMs} ms, ${seconds} s
${table(header, rows)}
target: at most ${TARGET * 100} % of a core: ${most <= TARGET ? 'met' : 'missed'}
target: no two probes of one server at once: ${overlapped ? 'missed' : 'met'}
`;
}

const options = readOptions();
if (!existsSync(ENTRY)) throw new Error(`${ENTRY} does not exist: run npm run build`);
const bench = openBench(coreLists());
process.on('exit', () => closeBench(bench));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));
try {
  const servers = await startServers(bench, options.servers);
  const figures: Figures[] = [];
  for (const [name, block] of CHECKS) figures.push(await measure(bench, servers, name, block, options));
  process.stdout.write(options.json ? `${JSON.stringify(figures, null, 2)}\n` : report(figures, options));
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
