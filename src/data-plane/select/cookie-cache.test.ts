import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenCache } from './cookie-cache.ts';

test('a token cache stays bounded and keeps what is in use', () => {
  const cache = new TokenCache(10);
  cache.put('used', { issuedMinutes: 1, position: 7 });
  for (let at = 0; at < 1000; at += 1) {
    cache.put(`token ${at}`, { issuedMinutes: 1, position: 0 });
    assert.ok(cache.size <= 21, `${cache.size} entries`);
    assert.equal(cache.get('used')?.position, 7);
  }
  assert.equal(cache.get('token 0'), undefined);
  assert.equal(cache.get('token 999')?.position, 0);
});
