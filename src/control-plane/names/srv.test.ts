import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDnsServer } from '../../../test/support/dns-server.ts';
import { lookupSrv } from './srv.ts';

test('targets are sorted by name and port, and what offers nothing is left out', { timeout: 30_000 }, async () => {
  const record = (address: string) => ({ type: 'SRV', address, ttl: 60 }) as const;
  const server = await startDnsServer({
    '_http._tcp.app.test': [record('B.test:9000'), record('a.test:8000'), record('b.test:80'), record('c.test:0')],
  });
  const found = await lookupSrv('_http._tcp.app.test', [server.address]);
  const none = await lookupSrv('_http._tcp.gone.test', [server.address]);
  server.close();
  assert.deepEqual(found, {
    targets: [
      { host: 'a.test', port: 8000 },
      { host: 'b.test', port: 80 },
      { host: 'b.test', port: 9000 },
    ],
    error: '',
  });
  assert.deepEqual(none, { targets: null, error: 'ENOTFOUND' });
});

test('a server that fails is an error, not a throw', { timeout: 30_000 }, async () => {
  const server = await startDnsServer({}, 2);
  const failed = await lookupSrv('_http._tcp.app.test', [server.address]);
  server.close();
  assert.equal(failed.targets, null);
  assert.notEqual(failed.error, '');
});
