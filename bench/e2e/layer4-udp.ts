/**
 * Processor time of relaying UDP, against nginx's stream module: `node bench/e2e/layer4-udp.ts [options of run.ts]`.
 * A round trip is a datagram of 64 bytes and its echo, in sessions that stay.
 */
import { createSocket } from 'node:dgram';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beside, type Bench } from './bench.ts';
import { udpLoad } from './load/udp.ts';
import type { BenchOptions } from './options.ts';
import { freePorts } from './ports.ts';
import type { ProxyKind, RunningProxy } from './proxies/proxy.ts';
import { holdfastUdp, nginxUdp } from './proxies/udp.ts';
import { progress, runRelayBench } from './relay.ts';
import { runRounds, type Samples } from './rounds.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BACKENDS = 2;
const READY_MS = 10_000;
const RETRY_MS = 50;
/** What a round trip may cost, in round trips of nginx. */
const MAX_OVER_NGINX = 1.5;

/** A datagram comes back whole. */
async function untilEchoed(name: string, port: number, alive: () => boolean): Promise<void> {
  const socket = createSocket('udp4');
  const echoed = new Set<string>();
  socket.on('message', (data) => echoed.add(String(data)));
  socket.on('error', () => {});
  const until = performance.now() + READY_MS;
  while (!echoed.has(name)) {
    if (performance.now() > until || !alive()) throw new Error(`${name} sends no datagram back`);
    socket.send(name, port, '127.0.0.1');
    await sleep(RETRY_MS);
  }
  socket.close();
}

async function startBackends(bench: Bench): Promise<readonly number[]> {
  const ports = await freePorts(BACKENDS);
  for (const port of ports) {
    const args = [beside(import.meta.url, 'backends/udp-echo.ts'), String(port)];
    const running = bench.processes.start({ command: process.execPath, args, cores: bench.otherCores });
    await untilEchoed(`backend ${port}`, port, () => running.alive());
  }
  return ports;
}

async function start(bench: Bench, kind: ProxyKind, backends: readonly number[]): Promise<RunningProxy> {
  const [port = 0, adminPort = 0] = await freePorts(2);
  const running = bench.processes.start(kind.plan(bench, port, adminPort, backends));
  await untilEchoed(kind.name, port, () => running.alive()).catch((error: Error) => {
    throw new Error(`${error.message}:\n${running.output()}`);
  });
  return { name: kind.name, port, running };
}

async function measure(bench: Bench, options: BenchOptions): Promise<Samples> {
  const backends = await startBackends(bench);
  const kinds = [nginxUdp, holdfastUdp('holdfast', ROOT)];
  if (options.against !== null) kinds.push(holdfastUdp('holdfast-b', options.against));
  const proxies: RunningProxy[] = [];
  for (const kind of kinds) {
    if (kind.missing() === '') proxies.push(await start(bench, kind, backends));
    else progress(`skipped ${kind.name}: ${kind.missing()}`);
  }
  return runRounds(bench, proxies, udpLoad, options, progress);
}

await runRelayBench({ reference: 'nginx', maxOverReference: MAX_OVER_NGINX, measure });
