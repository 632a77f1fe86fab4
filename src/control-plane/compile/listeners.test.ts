import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, compileJson, configOf } from '../../../test/support/config-fixtures.ts';
import type { ListenerSpec } from './compiled.ts';

function listen(...addresses: readonly string[]): readonly ListenerSpec[] {
  return compileJson(configOf([], { listen: addresses })).compiled.listeners;
}

test('a listener is known by its configured address', () => {
  assert.deepEqual(
    listen(':8080', '127.0.0.1:0', 'tcp/Example.com:81', '[::1]:8080').map(({ key, host, port }) => [key, host, port]),
    [
      ['tcp/:8080', '', 8080],
      ['tcp/127.0.0.1:0', '127.0.0.1', 0],
      ['tcp/example.com:81', 'example.com', 81],
      ['tcp/[::1]:8080', '::1', 8080],
    ],
  );
});

test('a port range becomes one listener a port', () => {
  assert.deepEqual(
    listen('127.0.0.1:8001-8003').map(({ port }) => port),
    [8001, 8002, 8003],
  );
  assert.equal(listen(':1-1024').length, 1024);
});

test('workers accept by themselves on Linux, through one acceptor elsewhere or when told so', () => {
  const mode = (platform: NodeJS.Platform, server = {}): unknown =>
    compileJson(configOf([], server), { platform }).compiled.listeners[0]?.accept;
  assert.equal(mode('linux'), 'kernel');
  assert.equal(mode('darwin'), 'shared');
  assert.equal(mode('win32'), 'shared');
  assert.equal(mode('linux', { accept: 'shared' }), 'shared');
  assert.equal(mode('darwin', { accept: 'kernel' }), 'kernel');
});

test('an inherited socket is a listener of its own, on which one thread accepts', () => {
  const json = configOf([], { listen: ['fd/3', ':8080'], accept: 'kernel' });
  assert.deepEqual(compileJson(json).compiled.listeners, [
    { key: 'fd/3', host: '', port: 0, accept: 'shared', fd: 3, place: 'apps.http.servers.srv0.listen.0' },
    { key: 'tcp/:8080', host: '', port: 8080, accept: 'kernel', fd: null, place: 'apps.http.servers.srv0.listen.1' },
  ]);
  assert.throws(() => listen('fd/3', 'fd/3'), /fd\/3 is listed twice/);
});

test('a listener knows the line of its site, and who imported it', () => {
  const positions = new Map([['apps.http.servers.srv0', { ...at(4), importChain: ['Caddyfile:9 (import sites)'] }]]);
  const { compiled } = compileJson(configOf([]), { positions });
  assert.equal(compiled.listeners[0]?.place, "Caddyfile:4 import chain ['Caddyfile:9 (import sites)']");
});

test('networks without a listener are not supported yet', () => {
  for (const [address, word] of [
    ['udp/:53', 'udp/'],
    ['fdgram/4', 'fdgram/'],
    ['fd/x', 'fd/'],
    ['{env.ADDR}:80', 'placeholders in listener addresses'],
  ] as const) {
    assert.throws(() => listen(address), {
      message: `'${word}' is not supported yet, at apps.http.servers.srv0.listen.0`,
    });
  }
});

test('what is no address to listen on is refused with its position', () => {
  const positions = new Map([['apps.http.servers.srv0', at(4)]]);
  for (const address of ['', 'localhost', ':', ':x', ':70000', ':9-8', '[::1', 'a b:80', ':1-70000', '::1']) {
    assert.throws(
      () => compileJson(configOf([], { listen: [address] }), { positions }),
      (error: Error) =>
        error.message.startsWith(`'${address}' is no address to listen on`) &&
        error.message.endsWith(', at Caddyfile:4'),
      address,
    );
  }
  assert.throws(() => listen(':1-1025'), /is a range of more than 1024 ports/);
  assert.throws(() => compileJson(configOf([], { listen: [] })), /server srv0 has no listen address/);
});

test('one address belongs to one server', () => {
  const server = { listen: [':8080'] };
  const json = { apps: { http: { servers: { a: server, b: server } } } };
  assert.throws(() => compileJson(json), /two servers listen on tcp\/:8080, at apps\.http\.servers\.b\.listen/);
  assert.throws(() => listen(':8080', ':8080'), /tcp\/:8080 is listed twice/);
});
