/** Global and server options that the threads of the data plane and the control plane have to follow. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, startBackend } from '../support/backend.ts';
import { startDnsServer, type DnsRecord } from '../support/dns-server.ts';
import { openListeningSocket } from '../support/listening-socket.ts';
import { freePort } from '../support/named-servers.ts';
import { startPlane } from '../support/plane.ts';
import { get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
/** So long that nothing in these tests happens because of it. */
const NEVER_MS = 600_000;
const FAULTY_WORKER = new URL('../support/faulty-worker.ts', import.meta.url);

test('accept shared spreads connections evenly over the workers', OPTIONS, async (t) => {
  const backend = await startBackend(t, 'backend');
  const { plane, port } = await startPlane(t, site(proxyTo([backend]), { servers: 'accept shared' }));
  const clients = [];
  for (let index = 0; index < 20; index += 1) {
    const client = await openClient(port);
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    assert.equal((await client.response()).body, 'backend');
    clients.push(client);
  }
  assert.deepEqual(
    plane.workers().map(({ connections }) => connections),
    [10, 10],
  );
  for (const client of clients) client.close();
});

test('an accept mode that changes by reload holds from then on, on the same port', OPTIONS, async (t) => {
  const fixed = await freePort();
  const on = (mode: string): string =>
    site('respond ok', { servers: `accept ${mode}` }).replace('http://:0', `http://:${fixed}`);
  const { plane, port, reload } = await startPlane(t, on('kernel'));
  await reload(on('shared'));
  const clients = [];
  for (let index = 0; index < 8; index += 1) {
    const client = await openClient(port);
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    assert.equal((await client.response()).body, 'ok');
    clients.push(client);
  }
  assert.deepEqual(
    plane.workers().map(({ connections }) => connections),
    [4, 4],
  );
  for (const client of clients) client.close();
});

test('name_refresh asks more often than the TTL says, from the reload on that brings it', OPTIONS, async (t) => {
  const first = await startBackend(t, 'first', undefined, 0, '127.0.9.1');
  await startBackend(t, 'second', undefined, first.port, '127.0.9.2');
  const at = (address: string): readonly DnsRecord[] => [{ type: 'A', address, ttl: 3600 }];
  const zone: Record<string, readonly DnsRecord[]> = { 'app.test': at('127.0.9.1') };
  const dns = await startDnsServer(zone);
  t.after(() => dns.close());
  const config = (refresh: string): string =>
    site(`reverse_proxy app.test:${first.port}`, { globals: `\tresolvers ${dns.address}\n\tname_refresh ${refresh}` });
  const { port, events, reload } = await startPlane(t, config('1h'));
  assert.equal((await get(port)).body, 'first');
  zone['app.test'] = at('127.0.9.2');
  await reload(config('1s'));
  await eventually(() => events.some(({ type }) => type === 'name-changed'), 'the moved name to be noticed');
  assert.equal((await get(port)).body, 'second');
});

test('worker_hang_timeout decides when a worker hangs, from the reload on that brings it', OPTIONS, async (t) => {
  const options = { workers: 1, workerEntry: FAULTY_WORKER, hangTimeoutMs: NEVER_MS };
  const { plane, port, events, reload } = await startPlane(t, site('respond ok'), options);
  await reload(site('respond ok', { globals: '\tworker_hang_timeout 1s' }));
  const client = await openClient(port);
  client.send('GET /hang HTTP/1.1\r\nHost: a.test\r\n\r\n');
  await eventually(() => plane.workerRestarts().hangs === 1, 'the hang to be noticed', 30_000);
  const hang = events.find(({ type }) => type === 'worker-hung');
  assert.match(hang?.message ?? '', /stood still for 1000 ms/);
  await client.ended();
});

test('an address that cannot be bound is told with the line of its site', OPTIONS, async (t) => {
  const taken = await openListeningSocket(t);
  const { port, reload } = await startPlane(t, site('respond old'));
  const config = `${site('respond new')}\nhttp://:${taken.port} {\n\tbind 127.0.0.1\n}\n`;
  await assert.rejects(reload(config), {
    name: 'ListenError',
    code: 'EADDRINUSE',
    message:
      `cannot listen on 127.0.0.1:${taken.port}: address already in use ` +
      '(is another server, or another Holdfast, running on it?), at Caddyfile:12',
  });
  const unknown = `${site('respond new')}\nhttp://:0 {\n\tbind no-such-host.invalid\n}\n`;
  await assert.rejects(reload(unknown), /the name does not resolve .*, at Caddyfile:12$/);
  assert.equal((await get(port)).body, 'old');
});
