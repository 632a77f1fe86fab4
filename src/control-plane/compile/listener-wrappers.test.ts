import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileJson, configOf } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';

const HEADER: Json = { wrapper: 'proxy_protocol', allow: ['10.0.0.0/8'] };
const TLS: Json = { wrapper: 'tls' };

function compile(wrappers: readonly Json[], server: Json = {}): ReturnType<typeof compileJson> {
  return compileJson(configOf([], { listener_wrappers: wrappers, ...server }));
}

function headerOf(wrappers: readonly Json[]): unknown {
  return compile(wrappers).compiled.servers[0]!.options.proxyHeader;
}

test('servers without the wrapper look for no header', () => {
  assert.equal(headerOf([]), undefined);
  assert.equal(headerOf([TLS]), undefined);
});

test('defaults, and what is written', () => {
  const defaults = { timeoutMs: 5000, deny: [], allow: ['10.0.0.0/8'], fallback: 'ignore' };
  assert.deepEqual(headerOf([HEADER]), defaults);
  assert.deepEqual(headerOf([HEADER, TLS]), defaults);
  const written = { ...HEADER, timeout: '2s', deny: ['10.0.0.66'], fallback_policy: 'REQUIRE' };
  assert.deepEqual(headerOf([written]), {
    timeoutMs: 2000,
    deny: ['10.0.0.66'],
    allow: ['10.0.0.0/8'],
    fallback: 'require',
  });
});

test('what makes no sense is refused', () => {
  const refused: readonly (readonly [wrappers: readonly Json[], message: RegExp])[] = [
    [[TLS, HEADER], /listener_wrappers\.1: .*a PROXY header comes before TLS, so write it before tls/],
    [[HEADER, HEADER], /proxy_protocol is there twice/],
    [[{ ...HEADER, timeout: 0 }], /timeout/],
    [[{ ...HEADER, timeout: '6m' }], /timeout/],
    [[{ ...HEADER, allow: ['lan'] }], /allow\.0.*expected an IP address/],
    [[{ ...HEADER, fallback_policy: 'MAYBE' }], /expected a fallback policy: IGNORE, USE/],
    [[{ wrapper: 'telnet' }], /expected a listener wrapper: 'proxy_protocol' or 'tls'/],
    [[{ ...TLS, cert: 'a' }], /unknown field 'cert'/],
  ];
  for (const [wrappers, message] of refused) assert.throws(() => compile(wrappers), message);
});

test('a server with TLS has to say that the header stands before it', () => {
  const server = { listen: [':443'], tls_connection_policies: [{}] };
  assert.throws(() => compile([HEADER], server), /write tls below/);
  assert.doesNotThrow(() => compile([HEADER, TLS], server));
});

test('a wrapper that believes nobody is a warning', () => {
  const warns = (fields: Json): boolean =>
    compile([{ wrapper: 'proxy_protocol', ...fields }]).warnings.some(({ message }) => message.includes('allow'));
  assert.ok(warns({}));
  assert.ok(warns({ fallback_policy: 'REJECT', deny: ['10.0.0.1'] }));
  assert.ok(!warns({ fallback_policy: 'USE' }));
  assert.ok(!warns({ fallback_policy: 'require' }));
  assert.ok(!warns({ allow: ['10.0.0.1'] }));
});
