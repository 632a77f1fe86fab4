/** Nothing is timed before its answers are right: status, body, forwarding fields, affinity. */
import { BODY, type Echo } from './backends/answers.ts';
import { ask } from './client.ts';
import type { RunningProxy } from './proxies/proxy.ts';

const CLIENTS = 24;
const VISITS = 3;

/** Throws with what is wrong. */
export async function checkProxy(proxy: RunningProxy): Promise<void> {
  const answer = await ask(proxy.port, '/');
  expect(proxy, 'the status', answer.status, 200);
  expect(proxy, 'the body', answer.body, BODY);
  const used = new Set<string>();
  for (let client = 0; client < CLIENTS; client += 1) used.add(await checkAffinity(proxy, clientAddress(client)));
  if (used.size < 2) throw new Error(`${proxy.name}: ${CLIENTS} clients all went to one backend`);
}

/** Addresses that differ in the third byte too, because nginx's ip_hash looks at the first three only. */
function clientAddress(client: number): string {
  return `127.0.${client + 1}.${client + 10}`;
}

async function checkAffinity(proxy: RunningProxy, address: string): Promise<string> {
  let home = '';
  for (let visit = 0; visit < VISITS; visit += 1) {
    const { status, body } = await ask(proxy.port, '/echo', address);
    expect(proxy, 'the status of /echo', status, 200);
    const echo = JSON.parse(body) as Echo;
    checkFields(proxy, echo, address);
    if (home === '') home = echo.port;
    expect(proxy, `the backend of ${address} on a later visit`, echo.port, home);
  }
  return home;
}

function checkFields(proxy: RunningProxy, echo: Echo, address: string): void {
  const host = `127.0.0.1:${proxy.port}`;
  expect(proxy, 'Host', echo.host, host);
  // http-proxy joins and maps: it may say ::ffff:127.0.0.1.
  expect(proxy, 'X-Forwarded-For', echo.for.replace(/^::ffff:/, ''), address);
  expect(proxy, 'X-Forwarded-Proto', echo.proto, 'http');
  expect(proxy, 'X-Forwarded-Host', echo.forwardedHost, host);
}

function expect(proxy: RunningProxy, what: string, found: string | number, wanted: string | number): void {
  if (found === wanted) return;
  throw new Error(`${proxy.name}: ${what} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
}
