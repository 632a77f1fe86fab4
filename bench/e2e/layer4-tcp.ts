/**
 * Processor time of relaying TCP, against HAProxy in tcp mode: `node bench/e2e/layer4-tcp.ts [options of run.ts]`.
 * A round trip is a request and its answer of an HTTP backend, on connections that stay open.
 */
import { fileURLToPath } from 'node:url';
import { startBackends } from './backends/backend.ts';
import { BODY, type Echo } from './backends/answers.ts';
import type { Bench } from './bench.ts';
import { ask } from './client.ts';
import { chooseGenerator } from './load/load.ts';
import type { BenchOptions } from './options.ts';
import { startProxy, type RunningProxy } from './proxies/proxy.ts';
import { haproxyTcp, holdfastTcp } from './proxies/tcp.ts';
import { progress, runRelayBench } from './relay.ts';
import { runRounds, type Samples } from './rounds.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CLIENTS = 12;
/** What a round trip may cost, in round trips of HAProxy. */
const MAX_OVER_HAPROXY = 1.5;

/** Answers come through whole, and a client's connections all go to the same backend. */
async function check({ name, port }: RunningProxy): Promise<void> {
  const { status, body } = await ask(port, '/');
  if (status !== 200 || body !== BODY) throw new Error(`${name} answers ${status} ${JSON.stringify(body)}`);
  const used = new Set<string>();
  for (let client = 1; client <= CLIENTS; client += 1) {
    const from = `127.0.${client}.${client + 9}`;
    const homes = [await ask(port, '/echo', from), await ask(port, '/echo', from)].map(
      (answer) => (JSON.parse(answer.body) as Echo).port,
    );
    if (homes[0] !== homes[1]) throw new Error(`${name} sends ${from} to ${homes.join(' and ')}`);
    used.add(homes[0]!);
  }
  if (used.size < 2) throw new Error(`${name}: ${CLIENTS} clients all went to one backend`);
}

async function measure(bench: Bench, options: BenchOptions): Promise<Samples> {
  const { ports } = await startBackends(bench);
  const kinds = [haproxyTcp, holdfastTcp('holdfast', ROOT)];
  if (options.against !== null) kinds.push(holdfastTcp('holdfast-b', options.against));
  const proxies: RunningProxy[] = [];
  for (const kind of kinds) {
    if (kind.missing() !== '') {
      progress(`skipped ${kind.name}: ${kind.missing()}`);
      continue;
    }
    const proxy = await startProxy(bench, kind, ports);
    await check(proxy);
    proxies.push(proxy);
  }
  return runRounds(bench, proxies, chooseGenerator(), options, progress);
}

await runRelayBench({ reference: 'haproxy', maxOverReference: MAX_OVER_HAPROXY, measure });
