/** Server-sent events: the head at once, each event by itself, and no stream left behind when a client leaves. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually, startBackend } from '../support/backend.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { freePort, startServer, type Program } from '../support/program.ts';
import { openClient, type RawClient } from '../support/raw-client.ts';

const FOLDER = fileURLToPath(new URL('../../examples/sse/', import.meta.url));
const CADDYFILE = readFileSync(`${FOLDER}Caddyfile`, 'utf8');

interface Site {
  readonly balancer: TestBalancer;
  readonly server: Program;
  publish(data: string): Promise<void>;
  /** How many streams the server itself holds open. */
  streams(): Promise<string>;
}

async function startSite(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Site> {
  const port = await freePort();
  const options = { cwd: FOLDER, env: { PORT: String(port), ...env } };
  const server = await startServer(t, process.execPath, ['server.js'], port, options);
  const upstream = { EVENTS: `127.0.0.1:${port}` };
  const balancer = await startBalancer(t, CADDYFILE, { env: { PORT: '0', ...upstream }, admin: false });
  return {
    balancer,
    server,
    async publish(data) {
      const url = `http://127.0.0.1:${balancer.port}/publish`;
      const response = await fetch(url, { method: 'POST', body: data, signal: AbortSignal.timeout(10_000) });
      await response.text();
    },
    async streams() {
      const response = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(10_000) });
      return response.text();
    },
  };
}

/** Asks for the stream and waits for its head alone. */
async function openStream(port: number, headers: readonly string[] = []): Promise<{ head: string; client: RawClient }> {
  const client = await openClient(port);
  client.send(['GET /events HTTP/1.1', 'Host: a', ...headers, '', ''].join('\r\n'));
  await client.until(() => client.received.includes('\r\n\r\n'));
  const end = client.received.indexOf('\r\n\r\n') + 4;
  const head = client.received.slice(0, end);
  client.received = client.received.slice(end);
  return { head, client };
}

test('the head arrives before there is an event, and each event before the next one is made', async (t) => {
  const { balancer, publish } = await startSite(t);
  const { head, client } = await openStream(balancer.port, ['Accept-Encoding: gzip']);
  assert.match(head, /^HTTP\/1\.1 200 /);
  assert.match(head, /^content-type: text\/event-stream; charset=utf-8\r$/im);
  assert.equal(client.received, '', 'the head came alone');
  for (const data of ['one', 'two\nlines', 'x'.repeat(4096)]) {
    client.received = '';
    await publish(data);
    const last = data.split('\n').at(-1)!;
    await client.until(() => client.received.includes(`data: ${last}\n\n`));
  }
  client.close();
});

test('the server sees within moments that a client left', async (t) => {
  const { balancer, streams, publish } = await startSite(t);
  const { client } = await openStream(balancer.port);
  const { client: other } = await openStream(balancer.port);
  assert.equal(await streams(), '2 streams\n');
  client.close();
  await eventually(async () => (await streams()) === '1 streams\n', 'the stream of the one that left to end');
  await publish('still there');
  await other.until(() => other.received.includes('still there'));
  other.close();
});

test('a comment of the server goes on though nothing happens, and reloads cut no stream', async (t) => {
  const { balancer, publish } = await startSite(t, { HEARTBEAT_MS: '50' });
  const { client } = await openStream(balancer.port);
  await client.until(() => client.received.includes(': still here'));
  await balancer.reload(CADDYFILE.replace('health_interval 1s', 'health_interval 2s'));
  client.received = '';
  await client.until(() => client.received.includes(': still here'));
  await publish('after the reload');
  await client.until(() => client.received.includes('after the reload'));
  client.close();
});

test('a server that dies resets the stream, so that EventSource connects anew and says what it saw last', async (t) => {
  const { balancer, publish, server } = await startSite(t);
  await publish('one');
  await publish('two');
  const { client: again } = await openStream(balancer.port, ['Last-Event-ID: 1']);
  await again.until(() => again.received.includes('id: 2\ndata: two'));
  assert.ok(!again.received.includes('data: one'));
  await server.end();
  assert.equal(await again.ended(), 'reset');
});

/** Heads that other proxies did not take for a stream. */
const HEADS: readonly (readonly [name: string, write: (response: ServerResponse) => void])[] = [
  ['with a charset', (response) => response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })],
  ['in odd letters', (response) => response.writeHead(200, { 'Content-Type': 'TEXT/Event-Stream' })],
  ['without a type', (response) => response.writeHead(200)],
  [
    'that ends with its connection',
    (response) => {
      response.useChunkedEncodingByDefault = false;
      response.writeHead(200, { 'Content-Type': 'text/event-stream', Connection: 'close' });
    },
  ],
];

for (const [name, write] of HEADS) {
  test(`a stream ${name} is relayed event by event`, async (t) => {
    let response: ServerResponse | undefined;
    const backend = await startBackend(t, 'events', (_, given) => {
      response = given;
      write(given);
      given.flushHeaders();
    });
    const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${backend.port}`));
    const { client } = await openStream(balancer.port);
    for (const event of ['data: 1\n\n', 'data: 2\n\n', `data: ${'y'.repeat(4096)}\n\n`]) {
      client.received = '';
      response!.write(event);
      await client.until(() => client.received.includes(event));
    }
    client.close();
    await eventually(() => {
      // Of an answer of any other type a FIN may be a half-close; the next bytes find nobody there.
      if (name === 'without a type') response!.write('data: 3\n\n');
      return response!.closed;
    }, 'the end of the stream at the server');
  });
}
