import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { DemoBackends } from './backends.ts';
import { visitPage, visitText } from './page.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('a backend can be killed by its pid and started again', { timeout: 30_000 }, async (t) => {
  const port = await freePort();
  const happened: string[] = [];
  let wake = (): void => {};
  const note = (what: string): void => {
    happened.push(what);
    wake();
  };
  const until = async (count: number): Promise<void> => {
    while (happened.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  let lastPid = 0;
  const backends = new DemoBackends([port], {
    up: (backend, pid) => {
      lastPid = pid;
      note(`up ${backend}`);
    },
    down: (backend) => note(`down ${backend}`),
  });
  t.after(() => backends.stop());
  await backends.start();
  const url = `http://127.0.0.1:${port}/`;
  assert.match(await (await fetch(url)).text(), /^backend 1 +client 127\.0\.0\.1 +request 1 /);
  assert.match(await (await fetch(url, { headers: { Accept: 'text/html' } })).text(), /<h1>Backend 1<\/h1>/);
  process.kill(lastPid, 'SIGKILL');
  await until(2);
  backends.toggle(1);
  await until(3);
  assert.deepEqual(happened, ['up 1', 'down 1', 'up 1']);
  assert.equal((await fetch(`${url}healthz`)).status, 200);
});

test('a port in use fails the start with a sentence', { timeout: 30_000 }, async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  t.after(() => holder.close());
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const backends = new DemoBackends([port], { up: () => {}, down: () => {} });
  t.after(() => backends.stop());
  await assert.rejects(backends.start(), new RegExp(`could not listen on 127\\.0\\.0\\.1:${port}`));
});

test('the page shows what the client sent as text, never as markup', () => {
  const visit = { backend: 2, pid: 42, client: '<script>', served: 3 };
  assert.doesNotMatch(visitPage(visit), /<script>/);
  assert.match(visitText(visit), /^backend 2 .*kill 42/);
});
