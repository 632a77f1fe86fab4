/**
 * How long big configs stop the event loops: `node bench/control-plane/run.ts`. For each phase the longest gap
 * of the main thread and of the one worker, in wall time and in processor time of that thread (on a busy machine
 * only the second one is ours).
 */
import { Worker, BroadcastChannel } from 'node:worker_threads';
import { AdminEndpoint } from '../../src/control-plane/admin/endpoint.ts';
import { createAdminRoutes } from '../../src/control-plane/admin/routes/index.ts';
import { createControlPlane } from '../../src/control-plane/control-plane.ts';
import { adaptLargeOrSmall } from '../../src/control-plane/helper/read-config.ts';
import { Metrics } from '../../src/control-plane/metrics/metrics.ts';
import type { ControlPlane } from '../../src/control-plane/types.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { loggerTo } from '../../src/shared/log.ts';
import { BIG_CONFIGS, CHANGED_CONFIGS, type BigConfig } from './configs.ts';
import { GapWatch, type Gap } from './gap.ts';

/** Work that a load leaves behind (starting checks, dropping rows) ends within this time. */
const SETTLE_MS = 1500;

const log = loggerTo((level, message, fields) => {
  if (level === 'warn' || level === 'error') console.error(level, message, fields);
});
const channel = new BroadcastChannel('worker-gap');
const watch = new GapWatch();

function takeWorkerGap(): Promise<Gap> {
  return new Promise((resolve) => {
    channel.addEventListener('message', (event) => resolve((event as MessageEvent & { readonly data: Gap }).data), {
      once: true,
    });
    channel.postMessage('take');
  });
}

function fetchAside(url: string): Promise<{ readonly status: number; readonly bytes: number }> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('client.ts', import.meta.url), { workerData: url });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

async function phase(name: string, run: () => Promise<string>): Promise<void> {
  watch.take();
  if (!name.startsWith('first')) await takeWorkerGap();
  const startedAt = performance.now();
  const note = await run();
  const tookMs = performance.now() - startedAt;
  const main = watch.take();
  const worker = await takeWorkerGap();
  console.log(
    [
      name.padEnd(26),
      `took ${tookMs.toFixed(0).padStart(6)} ms`,
      `main ${show(main)}`,
      `worker ${show(worker)}`,
      note,
    ].join('   '),
  );
}

function show({ wallMs, cpuMs }: Gap): string {
  return `${wallMs.toFixed(0).padStart(5)} ms (${cpuMs.toFixed(0).padStart(4)} cpu)`;
}

function startAdmin(plane: ControlPlane): AdminEndpoint {
  const routes = createAdminRoutes({
    env: {},
    plane,
    log,
    metrics: new Metrics(plane, systemClock, '0'),
    adapt: (text, adapter, filename) => adaptLargeOrSmall({ text, adapter, filename }, {}),
    load: (request) => plane.load(request),
    stop: () => {},
  });
  return new AdminEndpoint(routes, log);
}

async function measure(config: BigConfig, changed: BigConfig): Promise<void> {
  console.log(`\n${config.name} (${(config.text.length / 1e6).toFixed(1)} MB)`);
  const plane = createControlPlane({
    log,
    workers: 1,
    env: process.env,
    hangTimeoutMs: 60_000,
    workerEntry: new URL('watched-worker.ts', import.meta.url),
  });
  const endpoint = startAdmin(plane);
  const load =
    ({ text }: BigConfig) =>
    async (): Promise<string> => {
      await plane.load({ text, adapter: 'caddyfile', filename: 'Caddyfile' });
      return '';
    };
  const settle = async (): Promise<string> => new Promise((resolve) => setTimeout(() => resolve(''), SETTLE_MS));
  await phase('first load', load(config));
  await phase('after it', settle);
  await phase('same text again', load(config));
  await phase('reload, one change', load(changed));
  await phase('after it', settle);
  await phase('PATCH one upstream', async () => {
    plane.patchUpstream('127.16.1.1:8080', { adminState: 'drain' });
    return '';
  });
  await endpoint.apply({ enabled: true, host: '127.0.0.1', port: 0, origins: [], enforceOrigin: false });
  for (const path of ['/config/', '/upstreams', '/reverse_proxy/upstreams', '/metrics']) {
    await phase(path, async () => {
      const { status, bytes } = await fetchAside(`http://127.0.0.1:${endpoint.address()!.port}${path}`);
      return `${status}, ${(bytes / 1e6).toFixed(1)} MB`;
    });
  }
  await phase('retire the worker', async () => {
    await plane.retireWorker(plane.workers()[0]!.lane);
    return '';
  });
  await endpoint.stop();
  await plane.stop(0);
}

for (const [at, config] of BIG_CONFIGS.entries()) {
  if (process.argv[2] === undefined || process.argv[2] === String(at)) await measure(config, CHANGED_CONFIGS[at]!);
}
watch.stop();
channel.close();
