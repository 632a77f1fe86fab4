/** Which versions of HTTP a server speaks: `protocols`, `alpn`, and streams a connection. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileJson, configOf, proxy } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';

type Result = ReturnType<typeof compileJson>;

function compile(server: Json): Result {
  return compileJson(configOf([proxy(['app:80'])], server));
}

function secure(server: Json, policy: Json = {}): Result {
  return compile({
    listen: [':443'],
    automatic_https: { disable: true },
    tls_connection_policies: [policy],
    ...server,
  });
}

const alpnOf = ({ compiled }: Result): readonly string[] => compiled.servers[0]!.tls!.policies[0]!.alpn;
const warningsOf = ({ warnings }: Result): readonly string[] =>
  warnings.map(({ message }) => message.split(', at ')[0]!);

test('HTTP/2 is offered over TLS, and taken in the clear only where h2c says so', () => {
  assert.deepEqual(alpnOf(secure({})), ['h2', 'http/1.1']);
  assert.deepEqual(alpnOf(secure({ protocols: ['h1'] })), ['http/1.1']);
  assert.equal(compile({}).compiled.servers[0]!.options.h2c, undefined);
  assert.equal(compile({ protocols: ['h1', 'h2', 'h2c'] }).compiled.servers[0]!.options.h2c, true);
});

test('alpn decides the order, and cannot offer what the server does not speak', () => {
  assert.deepEqual(alpnOf(secure({}, { alpn: ['http/1.1', 'h2'] })), ['http/1.1', 'h2']);
  assert.deepEqual(alpnOf(secure({}, { alpn: ['h2'] })), ['h2']);
  assert.deepEqual(alpnOf(secure({ protocols: ['h1'] }, { alpn: ['h2', 'http/1.1'] })), ['http/1.1']);
  assert.throws(() => secure({ protocols: ['h1'] }, { alpn: ['h2'] }), /alpn h2 offers nothing that the server speaks/);
  assert.throws(
    () => secure({}, { alpn: ['h2c'] }),
    /'h2c' is no protocol that is served: alpn takes h2 and http\/1\.1/,
  );
});

test('h3 is told about, wherever it stands', () => {
  const reason = 'HTTP/3 is not served, because Node.js has none yet; clients use HTTP/2';
  assert.deepEqual(warningsOf(secure({ protocols: ['h1', 'h2', 'h3'] })), [`protocols h3: ${reason}`]);
  const both = secure({}, { alpn: ['h3', 'h2', 'http/1.1'] });
  assert.deepEqual(warningsOf(both), [`alpn h3: ${reason}`]);
  assert.deepEqual(alpnOf(both), ['h2', 'http/1.1']);
});

test('streams a connection are limited where it is asked for', () => {
  assert.equal(compile({}).compiled.servers[0]!.options.streamsPerConnection, undefined);
  const limited = compile({ limits: { streams_per_connection: 7 } });
  assert.equal(limited.compiled.servers[0]!.options.streamsPerConnection, 7);
});
