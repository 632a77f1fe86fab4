import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readUpstream } from './upstream-address.ts';

test('an upstream is a host and a port, and keeps its configured text', () => {
  const cases: readonly (readonly [dial: string, host: string, port: number, identity: string])[] = [
    ['app:3000', 'app', 3000, 'app:3000'],
    ['app:80', 'app', 80, 'app'],
    ['app', 'app', 80, 'app'],
    ['tcp/app:80', 'app', 80, 'app'],
    ['tcp/app:81', 'app', 81, 'app:81'],
    [':8080', 'localhost', 8080, ':8080'],
    [':80', 'localhost', 80, ':80'],
    ['10.0.0.1:80', '10.0.0.1', 80, '10.0.0.1'],
    ['[::1]:80', '::1', 80, '[::1]'],
    ['[2001:db8::1]:8443', '2001:db8::1', 8443, '[2001:db8::1]:8443'],
    ['2001:db8::80', '2001:db8::80', 80, '2001:db8::80'],
    ['my_service.internal:80', 'my_service.internal', 80, 'my_service.internal'],
    ['host.example.:8080', 'host.example.', 8080, 'host.example.:8080'],
    ['unix//run/app.sock', 'unix//run/app.sock', 0, 'unix//run/app.sock'],
    ['unix/run/app.sock', 'unix/run/app.sock', 0, 'unix/run/app.sock'],
    ['unix/@app', 'unix/@app', 0, 'unix/@app'],
  ];
  for (const [dial, host, port, identity] of cases) {
    assert.deepEqual(readUpstream(dial), { member: { upstream: dial, identity, host, port } }, dial);
  }
});

test('networks and placeholders of Caddy are told apart from mistakes', () => {
  const cases: readonly (readonly [dial: string, word: string])[] = [
    ['unix+h2c//run/app.sock', 'unix+h2c/ upstreams'],
    ['udp/app:53', 'udp/ upstreams'],
    ['fd/3', 'fd/ upstreams'],
    ['{vars.up}', 'placeholders in upstreams'],
    ['app:{env.PORT}', 'placeholders in upstreams'],
  ];
  for (const [dial, notYet] of cases) assert.deepEqual(readUpstream(dial), { notYet }, dial);
});

test('what is no address says so and what to write', () => {
  const tooLong = `unix//${'a'.repeat(103)}`;
  const cases = [
    'unix/',
    tooLong,
    '',
    'app:0',
    'app:70000',
    'app:x',
    'app:1-2',
    'a b:80',
    'http://app',
    'app:80/path',
    '[::1',
    '-a:80',
  ];
  for (const dial of cases) {
    const read = readUpstream(dial);
    assert.ok('fault' in read && read.fault.startsWith(`'${dial}' is no upstream address: `), dial);
  }
});
