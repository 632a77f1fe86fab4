import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createAllowList } from './allow-list.ts';
import { filterRequest } from './filter.ts';

const LIST = createAllowList({ enabled: true, host: 'localhost', port: 2019, origins: [], enforceOrigin: false }, 2019);
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d*)?$/i;

const FIELDS = ['Host', 'Origin', 'Referer', 'Sec-Fetch-Site', 'Sec-Fetch-Mode', 'Sec-Fetch-Dest', 'Upgrade', 'X'];
const VALUES = ['localhost:2019', 'evil.example', 'http://localhost:2019', 'http://evil.example', 'null', 'cross-site'];

const field = fc.tuple(
  fc.constantFrom(...FIELDS),
  fc.oneof(fc.constantFrom(...VALUES, 'same-origin', 'no-cors', ''), fc.string()),
);

function verdictOf(target: string, headers: readonly (readonly [string, string])[], method = 'POST'): boolean {
  return filterRequest(
    { method, target, httpVersion: '1.1', rawHeaders: headers.flat(), localAuthority: '127.0.0.1:2019' },
    LIST,
  ).allowed;
}

test('whatever passes named a loopback host, and no foreign origin', () => {
  fc.assert(
    fc.property(fc.oneof(fc.constant('/load'), fc.string()), fc.array(field, { maxLength: 6 }), (target, headers) => {
      if (!verdictOf(target, headers)) return;
      const hosts = headers.filter(([name]) => name === 'Host').map(([, value]) => value.trim());
      const absolute = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(target);
      assert.match(absolute?.[1] ?? hosts[0] ?? '', LOOPBACK);
      for (const [name, value] of headers) {
        if (name === 'Origin' && value !== '') assert.match(value, /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\]):/i);
      }
    }),
    { numRuns: 2000 },
  );
});

test('no host that is not on the list passes', () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.ipV4(), fc.string()), fc.nat(65_535), (host, port) => {
      fc.pre(!LOOPBACK.test(`${host.trim()}:${port}`) && !LOOPBACK.test(host.trim()));
      assert.equal(verdictOf('/config/', [['Host', `${host}:${port}`]], 'GET'), false);
    }),
  );
});
