import assert from 'node:assert/strict';
import * as net from 'node:net';
import { test } from 'node:test';
import { bindAll, bindHosts, explain, ListenError, printAddress } from './bind.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };

function request(configured: { host: string; port: number }, count: number): Parameters<typeof bindAll>[0] {
  return { configured, hosts: [configured.host], count, held: false, reusePort: true };
}

test('port 0 is resolved once for all sockets', () => {
  const sockets = bindAll(request(LOOPBACK, 3));
  const ports = new Set(sockets.map((socket) => socket.address().port));
  for (const socket of sockets) socket.close();
  assert.equal(ports.size, 1);
  assert.ok(!ports.has(0));
});

test('a port on which somebody of the same user listens with SO_REUSEPORT is refused in words', async () => {
  const other = net.createServer();
  await new Promise<void>((resolve) => other.listen({ host: '127.0.0.1', port: 0, reusePort: true }, resolve));
  const { port } = other.address() as net.AddressInfo;
  const taken = { host: '127.0.0.1', port };
  assert.throws(() => bindAll(request(taken, 2)), {
    name: 'ListenError',
    code: 'EADDRINUSE',
    message: `cannot listen on 127.0.0.1:${port}: address already in use (is another server, or another Holdfast, running on it?)`,
  });
  const shared = bindAll({ ...request(taken, 1), held: true });
  for (const socket of shared) socket.close();
  other.close();
});

test('an address of another machine is refused in words', () => {
  assert.throws(() => bindAll(request({ host: '192.0.2.1', port: 0 }, 1)), /not on this machine/);
});

test('the next candidate is used where the family of the first one is missing', () => {
  const hosts = ['2001:db8::1', '127.0.0.1'];
  const [socket] = bindAll({ ...request({ host: '', port: 0 }, 1), hosts });
  assert.equal(socket?.address().address, '127.0.0.1');
  socket?.close();
});

test('the empty host is dual stack first, names are resolved, unknown ones are refused', async () => {
  assert.deepEqual(await bindHosts({ host: '' }), ['::', '0.0.0.0']);
  assert.deepEqual(await bindHosts({ host: '127.0.0.1' }), ['127.0.0.1']);
  const [local] = await bindHosts({ host: 'localhost' });
  assert.ok(local === '127.0.0.1' || local === '::1');
  await assert.rejects(bindHosts({ host: 'no-such-host.invalid', place: 'Caddyfile:3' }), (error) => {
    assert.ok(error instanceof ListenError);
    assert.match(error.message, /^cannot listen on no-such-host\.invalid: .*, at Caddyfile:3$/);
    return true;
  });
});

test('messages name the address as people write it', () => {
  assert.equal(printAddress({ host: '', port: 80 }), ':80');
  assert.equal(printAddress({ host: '::1', port: 80 }), '[::1]:80');
  const denied = Object.assign(new Error('bind EACCES'), { code: 'EACCES' });
  assert.match(explain(denied, { host: '', port: 80, place: 'sites/a.conf:7' }).message, /, at sites\/a\.conf:7$/);
  assert.match(
    explain(denied, { host: '', port: 80 }).message,
    /^cannot listen on :80: permission denied \(ports below 1024/,
  );
});
