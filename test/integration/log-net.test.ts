/** Access lines over the network, and what formats and filters make of them. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Balancer } from '../../src/index.ts';
import { eventually } from '../support/backend.ts';
import { globals, loadLibrary } from '../support/balance.ts';

interface Receiver {
  readonly port: number;
  lines(): string[];
  stop(): Promise<void>;
}

async function receive(t: TestContext, where: number | string): Promise<Receiver> {
  const sockets = new Set<Socket>();
  let text = '';
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('error', () => undefined);
  });
  if (typeof where === 'number') server.listen(where, '127.0.0.1');
  else server.listen(where);
  await once(server, 'listening');
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  t.after(stop);
  const address = server.address() as AddressInfo | string;
  const lines = (): string[] => text.split('\n').slice(0, -1);
  return { port: typeof address === 'string' ? 0 : address.port, lines, stop };
}

function config(log: string): string {
  return `${globals()}http://:0 {\nbind 127.0.0.1\nlog {\n${log}\n}\nrespond x\n}\n`;
}

async function start(t: TestContext, text: string): Promise<Balancer> {
  const { createBalancer } = await loadLibrary();
  const balancer = await createBalancer({ config: text, workers: 1 });
  t.after(() => balancer.stop(0));
  return balancer;
}

async function visit(balancer: Balancer, path: string): Promise<void> {
  await (await fetch(`http://127.0.0.1:${balancer.address().port}${path}`)).text();
}

function targetsOf(lines: readonly string[]): unknown[] {
  return lines.map((line) => (JSON.parse(line) as { target: string }).target);
}

test('lines go to a TCP receiver, the last ones before a stop ends', async (t) => {
  const receiver = await receive(t, 0);
  const balancer = await start(t, config(`output net 127.0.0.1:${receiver.port}`));
  await visit(balancer, '/a');
  await eventually(() => receiver.lines().length === 1, 'a line came');
  await visit(balancer, '/b');
  await balancer.stop(1000);
  await eventually(() => receiver.lines().length === 2, 'the last line came');
  assert.deepEqual(targetsOf(receiver.lines()), ['/a', '/b']);
});

test('lines wait for a receiver that is away and comes back', async (t) => {
  const first = await receive(t, 0);
  const balancer = await start(t, config(`output net tcp/127.0.0.1:${first.port}`));
  await visit(balancer, '/before');
  await eventually(() => first.lines().length === 1, 'a line came');
  await first.stop();
  await visit(balancer, '/meanwhile');
  const second = await receive(t, first.port);
  await eventually(() => second.lines().length > 0, 'the line that waited came');
  assert.deepEqual(targetsOf(second.lines()), ['/meanwhile']);
});

test('a receiver that is not there refuses the config, unless it may come later', async (t) => {
  const gone = await receive(t, 0);
  await gone.stop();
  await assert.rejects(start(t, config(`output net 127.0.0.1:${gone.port}`)), /cannot send a log to .*ECONNREFUSED/);
  const balancer = await start(t, config(`output net 127.0.0.1:${gone.port} {\nsoft_start\ndial_timeout 5s\n}`));
  await visit(balancer, '/early');
  const late = await receive(t, gone.port);
  await eventually(() => late.lines().length === 1, 'the line that waited came');
});

test('each line is a datagram of its own', async (t) => {
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  const datagrams: string[] = [];
  socket.on('message', (message) => datagrams.push(message.toString()));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const balancer = await start(t, config(`output net udp/127.0.0.1:${socket.address().port}`));
  await visit(balancer, '/a');
  await visit(balancer, '/b');
  await eventually(() => datagrams.length === 2, 'two datagrams came');
  assert.deepEqual(targetsOf(datagrams), ['/a', '/b']);
});

test('a Unix socket takes lines as well', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-net-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'log.sock');
  const receiver = await receive(t, path);
  const balancer = await start(t, config(`output net unix/${path}`));
  await visit(balancer, '/a');
  await eventually(() => receiver.lines().length === 1, 'a line came');
});

test('a reload keeps the connection of a receiver that stays', async (t) => {
  const receiver = await receive(t, 0);
  const balancer = await start(t, config(`output net 127.0.0.1:${receiver.port}`));
  await visit(balancer, '/a');
  await balancer.reload(config(`output net 127.0.0.1:${receiver.port}\nsampling {\nfirst 10\n}`));
  await visit(balancer, '/b');
  await eventually(() => receiver.lines().length === 2, 'both lines came');
});

test('filters look inside of fields, and appended ones stand behind them', async (t) => {
  const receiver = await receive(t, 0);
  const log = `output net 127.0.0.1:${receiver.port}
    format append {
      wrap filter {
        request>uri query {
          replace token REDACTED
          hash user
          delete session
        }
        request>host regexp "^127\\.(\\d+)\\." "$1-"
        request>headers>Cookie cookie {
          delete session
        }
      }
      app shop
      shard 3
      canary true
      quoted "4"
    }`;
  const balancer = await start(t, config(log));
  await visit(balancer, '/p?a=1&token=s%20t&user=ann&session=x&b');
  await eventually(() => receiver.lines().length === 1, 'a line came');
  const line = JSON.parse(receiver.lines()[0]!) as Record<string, unknown>;
  assert.match(String(line['target']), /^\/p\?a=1&token=REDACTED&user=[0-9a-f]{8}&b$/);
  assert.equal(line['host'], '0-0.1');
  assert.deepEqual(
    ['app', 'shard', 'canary', 'quoted'].map((name) => line[name]),
    ['shop', 3, true, '4'],
  );
});

test('logs that cannot work are refused with their line', async (t) => {
  for (const [log, why] of [
    ['output net nowhere', /no address of a log receiver.*:\d+/],
    ['output net unixgram//x', /no network of a log.*:\d+/],
    ['output net 127.0.0.1:1 {\ndial_timeout 2h\n}', /duration from 1ms to 1h.*:\d+/],
    ['format filter {\nhost regexp "(" x\n}', /regular expression.*:\d+/],
    ['format filter {\nrequest>uri cookie {\ndelete a\n}\n}', /no cookies.*:\d+/],
    ['format filter {\nrequest>uri query {\nmove a\n}\n}', /unrecognized subdirective move.*:\d+/],
  ] as const) {
    await assert.rejects(start(t, config(log)), why);
  }
});
