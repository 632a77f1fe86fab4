import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfig } from '../../cli/check-config.ts';
import type { AdminSpec } from './compiled.ts';

function adminOf(address: string): AdminSpec {
  const text = `{\n\tadmin ${address}\n}\nhttp://:80 {\n\trespond x\n}\n`;
  return checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {}).compiled.admin;
}

test('a Unix socket is a path and a mode, by default for its owner only', () => {
  assert.deepEqual(adminOf('unix//run/h.sock').unix, { path: '/run/h.sock', mode: 0o600 });
  assert.deepEqual(adminOf('unix//run/h.sock|0660').unix, { path: '/run/h.sock', mode: 0o660 });
  assert.deepEqual(adminOf('unix/h.sock|222').unix, { path: 'h.sock', mode: 0o222 });
  assert.equal(adminOf('localhost:2019').unix, undefined);
});

test('what is no socket is refused with file and line', () => {
  const place = /, at Caddyfile:2$/;
  for (const [address, message] of [
    ['unix/', /names no socket/],
    ['unix//a|0600|1', /names no socket/],
    ['unix//a|888', /no mode of a socket/],
    ['unix//a|07777', /no mode of a socket/],
    [`unix//${'a'.repeat(108)}`, /at most 107 bytes/],
    ['unix/@name', /'unix\/@' is not supported yet/],
  ] as const) {
    assert.throws(() => adminOf(address), message);
    assert.throws(() => adminOf(address), place);
  }
});
