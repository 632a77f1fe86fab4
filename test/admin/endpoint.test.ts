import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { AdminEndpoint } from '../../src/control-plane/admin/endpoint.ts';
import { jsonReply, type Route } from '../../src/control-plane/admin/exchange.ts';
import { silentLogger } from '../../src/shared/log.ts';

const ROUTES: readonly Route[] = [{ path: '/', methods: { GET: () => jsonReply('here') } }];
const SPEC = { enabled: true, host: '127.0.0.1', port: 0, origins: [], enforceOrigin: false };

async function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    (response) => response.ok,
    () => false,
  );
}

test('the endpoint moves to a new address and leaves the old one', async (t) => {
  const endpoint = new AdminEndpoint(ROUTES, silentLogger);
  t.after(() => endpoint.stop());
  await endpoint.apply(SPEC);
  const before = endpoint.address()?.port ?? 0;
  await endpoint.apply({ ...SPEC, host: 'localhost' });
  const after = endpoint.address()?.port ?? 0;
  assert.notEqual(after, before);
  assert.equal(await answers(before), false);
});

test('the same address with other origins is not bound again, and the new rules count', async (t) => {
  const endpoint = new AdminEndpoint(ROUTES, silentLogger);
  t.after(() => endpoint.stop());
  await endpoint.apply(SPEC);
  const port = endpoint.address()?.port ?? 0;
  await endpoint.apply({ ...SPEC, origins: ['admin.example'] });
  assert.equal(endpoint.address()?.port, port);
  assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 403);
});

test('an address that cannot be bound leaves the old endpoint', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  t.after(() => holder.close());
  await new Promise((resolve) => holder.once('listening', resolve));
  const endpoint = new AdminEndpoint(ROUTES, silentLogger);
  t.after(() => endpoint.stop());
  await endpoint.apply(SPEC);
  const port = endpoint.address()?.port ?? 0;
  const taken = (holder.address() as AddressInfo).port;
  await assert.rejects(endpoint.apply({ ...SPEC, port: taken }), { code: 'EADDRINUSE' });
  assert.equal(endpoint.address()?.port, port);
  assert.equal(await answers(port), true);
});

test('turned off, it answers no more', async () => {
  const endpoint = new AdminEndpoint(ROUTES, silentLogger);
  await endpoint.apply(SPEC);
  const port = endpoint.address()?.port ?? 0;
  await endpoint.apply({ ...SPEC, enabled: false });
  assert.equal(endpoint.address(), null);
  await endpoint.stop();
  assert.equal(await answers(port), false);
});
