import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { startFullBacklog } from '../../../test/support/full-backlog.ts';
import { loggerTo } from '../../shared/log.ts';
import type { LogNetSpec } from '../compile/compiled.ts';
import { MAX_QUEUED_BYTES, NetOutput } from './net-output.ts';

function specFor(port: number): LogNetSpec {
  const address = `127.0.0.1:${port}`;
  return {
    sink: `net/${address}`,
    address,
    network: 'tcp',
    host: '127.0.0.1',
    port,
    path: '',
    dialTimeoutMs: 1000,
    softStart: false,
  };
}

test('a receiver that takes nothing costs a bounded queue, and what is dropped is told', async (t) => {
  const sockets: Socket[] = [];
  const server = createServer({ pauseOnConnect: true }, (socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clock = new FakeClock();
  const told: unknown[] = [];
  const log = loggerTo((_level, message, fields) => told.push([message, fields?.['lines']]));
  const output = new NetOutput(specFor((server.address() as AddressInfo).port), log, clock);
  t.after(() => {
    output.destroy();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await output.start();
  const batch = `${'x'.repeat(MAX_QUEUED_BYTES / 2 - 2)}\n\n`;
  // The first two fill the queue; the kernel takes a part of the first only.
  for (let sent = 0; sent < 5; sent += 1) output.write(batch);
  await clock.advance(1000);
  assert.deepEqual(told, [['access lines were dropped: their receiver is too slow or gone', 6]]);
});

test('an output that was given up while it dials does not go on dialling', async (t) => {
  const clock = new FakeClock();
  const told: string[] = [];
  const log = loggerTo((_level, message) => told.push(message));
  const spec: LogNetSpec = { ...specFor(await startFullBacklog(t)), softStart: true, dialTimeoutMs: 60_000 };
  const output = new NetOutput(spec, log, clock);
  const started = output.start();
  output.write('a line\n');
  const ended = output.end();
  await clock.advance(10_000);
  await ended;
  await clock.advance(50_000);
  await started;
  assert.deepEqual(told, []);
});

test('a receiver of datagrams that cannot be reached costs no descriptor an attempt', async () => {
  const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === 'UDPWRAP').length;
  const before = sockets();
  // A broadcast address takes a socket option that is not set.
  const spec: LogNetSpec = { ...specFor(9), network: 'udp', host: '255.255.255.255' };
  const output = new NetOutput(
    spec,
    loggerTo(() => {}),
    new FakeClock(),
  );
  await assert.rejects(output.start(), /EACCES/);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(sockets(), before);
});
