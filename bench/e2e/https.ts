/**
 * Processor time of HTTPS requests, handshakes and HTTP/2 requests, against nginx, HAProxy and Caddy:
 * `node bench/e2e/https.ts [https|handshakes|http2] [options of run.ts]`.
 */
import { fileURLToPath } from 'node:url';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { startBackends } from './backends/backend.ts';
import { BODY, type Echo } from './backends/answers.ts';
import { closeBench, openBench, type Bench } from './bench.ts';
import type { LoadGenerator } from './load/load.ts';
import { handshakeLoad, http2Load, httpsLoad, missingFor } from './load/secure.ts';
import { coreLists, readOptions, type BenchOptions } from './options.ts';
import { freePorts } from './ports.ts';
import type { ProxyKind, RunningProxy } from './proxies/proxy.ts';
import { caddySecure, haproxySecure, holdfastSecure, makeCertificate, nginxSecure } from './proxies/secure.ts';
import { loadFigures } from './results.ts';
import { medianOf, medianRatio, runRounds, type Sample, type Samples } from './rounds.ts';
import { table } from './table.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const STARTING_MS = 15_000;

interface Part {
  readonly generator: LoadGenerator;
  /** What the processor time may be, in Caddy's. */
  readonly maxOverCaddy: number;
}

const PARTS: Readonly<Record<string, Part>> = {
  https: { generator: httpsLoad, maxOverCaddy: 1 },
  handshakes: { generator: handshakeLoad, maxOverCaddy: 1.5 },
  http2: { generator: http2Load, maxOverCaddy: 1 },
};

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** One request on a connection of its own. */
function ask(port: number, path: string): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const options = { port, path, host: '127.0.0.1', rejectUnauthorized: false, agent: false, timeout: 5000 };
    const asked = request(options, (response) => {
      void text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    asked.on('timeout', () => asked.destroy(new Error(`no answer from port ${port}`)));
    asked.on('error', reject);
    asked.end();
  });
}

async function start(bench: Bench, kind: ProxyKind, backends: readonly number[]): Promise<RunningProxy> {
  const [port = 0, adminPort = 0] = await freePorts(2);
  const running = bench.processes.start(kind.plan(bench, port, adminPort, backends));
  const deadline = Date.now() + STARTING_MS;
  for (;;) {
    const answer = await ask(port, '/').catch((error: unknown) => String(error));
    if (typeof answer !== 'string' && answer.status === 200) break;
    if (Date.now() > deadline) {
      throw new Error(`${kind.name} does not answer: ${JSON.stringify(answer)}\n${running.output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { name: kind.name, port, running };
}

/** Answers come through whole, a client stays on its backend, and the backend is told of https. */
async function check({ name, port }: RunningProxy): Promise<void> {
  const { status, body } = await ask(port, '/');
  if (status !== 200 || body !== BODY) throw new Error(`${name} answers ${status} ${JSON.stringify(body)}`);
  const echoes: Echo[] = [];
  for (let nth = 0; nth < 3; nth += 1) echoes.push(JSON.parse((await ask(port, '/echo')).body) as Echo);
  const [first] = echoes;
  if (first?.proto !== 'https') throw new Error(`${name} tells of ${first?.proto}, not https`);
  if (echoes.some((echo) => echo.port !== first.port)) throw new Error(`${name} does not keep a client on its backend`);
}

async function startAll(bench: Bench, options: BenchOptions): Promise<RunningProxy[]> {
  await makeCertificate(bench);
  const { ports } = await startBackends(bench);
  const kinds = [nginxSecure, haproxySecure, caddySecure, holdfastSecure('holdfast', ROOT)];
  if (options.against !== null) kinds.push(holdfastSecure('holdfast-b', options.against));
  const proxies: RunningProxy[] = [];
  for (const kind of kinds) {
    if (options.only.length > 0 && !options.only.includes(kind.name)) continue;
    if (kind.missing() !== '') {
      progress(`skipped ${kind.name}: ${kind.missing()}`);
      continue;
    }
    const proxy = await start(bench, kind, ports);
    await check(proxy);
    proxies.push(proxy);
  }
  return proxies;
}

const cpuUs = ({ userUs, systemUs }: Sample): number => userUs + systemUs;

function report(name: string, { generator, maxOverCaddy }: Part, samples: Samples): string {
  const over = (own: readonly Sample[], other: string): string => {
    const reference = samples.get(other);
    return reference === undefined ? '-' : medianRatio(own, reference, cpuUs).toFixed(2);
  };
  const rows = [...samples].map(([proxy, own]) => [
    proxy,
    medianOf(own, ({ requestsPerSecond }) => requestsPerSecond).toFixed(0),
    medianOf(own, cpuUs).toFixed(1),
    (1e6 / medianOf(own, cpuUs)).toFixed(0),
    over(own, 'nginx'),
    over(own, 'haproxy'),
    over(own, 'caddy'),
    String(own.reduce((sum, { failures }) => sum + failures, 0)),
  ]);
  const header = ['', 'requests/s', 'CPU µs', 'per CPU second', '×nginx', '×haproxy', '×caddy', 'failed'];
  const target = `target: at most ${maxOverCaddy} × caddy's CPU`;
  return `${name} (${generator.name})\n${table(header, rows)}\n${target}\n\n`;
}

async function main([word = '', ...rest]: readonly string[]): Promise<void> {
  const named = Object.hasOwn(PARTS, word);
  const options = readOptions(named ? rest : process.argv.slice(2));
  const proxies = await startAll(bench, options);
  const figures: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(PARTS)) {
    if (named && name !== word) continue;
    const missing = missingFor(part.generator);
    if (missing !== '') {
      progress(`skipped ${name}: ${missing}`);
      continue;
    }
    progress(name);
    const samples = await runRounds(bench, proxies, part.generator, options, progress);
    figures[name] = loadFigures(samples);
    if (!options.json) process.stdout.write(report(name, part, samples));
  }
  if (options.json) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
}

const bench = openBench(coreLists());
process.on('exit', () => closeBench(bench));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));
try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
