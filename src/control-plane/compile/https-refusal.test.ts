import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, compileJson, configOf, proxy } from '../../../test/support/config-fixtures.ts';
import type { Json } from '../../../test/support/config-fixtures.ts';

const site = (host: string): Json => ({ match: [{ host: [host] }], handle: [proxy(['app:80'])], terminal: true });
const positions = new Map([
  ['apps.http.servers.srv0', at(1)],
  ['apps.http.servers.srv0.routes.0', at(1)],
  ['apps.http.servers.srv0.routes.1', at(6)],
]);

function compile(server: Json, http: Json = {}): ReturnType<typeof compileJson> {
  const json = { apps: { http: { ...http, servers: { srv0: server } } } };
  return compileJson(json, { positions });
}

test('a bare host is refused: it would get automatic HTTPS', () => {
  assert.throws(() => compile({ listen: [':443'], routes: [site('example.com')] }), {
    message:
      'example.com needs HTTPS, which this version does not serve yet: write http://example.com, ' +
      'or put auto_https off in the global options, at Caddyfile:1',
    position: at(1),
  });
});

test('the first host that needs HTTPS is named, with its line', () => {
  const server = { listen: [':8443'], routes: [site('a.test'), site('b.test')], automatic_https: { skip: ['A.test'] } };
  assert.throws(
    () => compile(server),
    /^ConfigError: b\.test needs HTTPS, .*write http:\/\/b\.test:8443, or .*, at Caddyfile:6$/,
  );
});

test('the HTTPS port alone asks for HTTPS, even without a host', () => {
  assert.throws(() => compile({ listen: [':443'], routes: [{ handle: [] }] }), /:443 needs HTTPS/);
  assert.throws(() => compile({ listen: [':8443'], routes: [] }, { https_port: 8443 }), /:8443 needs HTTPS/);
});

test('TLS connection policies are refused, whatever auto_https says', () => {
  const server = {
    listen: [':443'],
    routes: [site('example.com')],
    tls_connection_policies: [{}],
    automatic_https: { disable: true },
  };
  assert.throws(
    () => compile(server),
    /example\.com needs HTTPS \(by https:.*write http:\/\/ in front of the address, and no tls directive/,
  );
});

test('what Caddy serves as plain HTTP is served', () => {
  const plain: readonly (readonly [string, Json, Json])[] = [
    ['HTTP port', { listen: [':80'], routes: [site('example.com')] }, {}],
    ['moved HTTP port', { listen: [':8080'], routes: [site('example.com')] }, { http_port: 8080 }],
    ['no host', { listen: [':8080'], routes: [{ handle: [] }] }, {}],
    ['skipped host', { listen: [':8080'], routes: [site('a.test')], automatic_https: { skip: ['a.test'] } }, {}],
    ['host that gets no certificate', { listen: [':8080'], routes: [site('a.test.')] }, {}],
  ];
  for (const [name, server, http] of plain) {
    assert.deepEqual(
      compile(server, http).warnings.filter(({ directive }) => directive === 'auto_https'),
      [],
      name,
    );
  }
});

test('with auto_https off a bare host is plain HTTP on the HTTPS port, and a warning says so', () => {
  const server = { listen: [':443'], routes: [site('example.com')], automatic_https: { disable: true } };
  const { compiled, warnings } = compile(server);
  assert.deepEqual(
    compiled.listeners.map(({ key }) => key),
    ['tcp/:443'],
  );
  assert.deepEqual(warnings[0], {
    file: 'Caddyfile',
    line: 1,
    directive: 'auto_https',
    message:
      'example.com is served as plain HTTP on port 443, because auto_https is off: ' +
      'write http:// in front of the address to use the HTTP port',
  });
  assert.deepEqual(compileJson(configOf([proxy(['app:80'])], { automatic_https: { disable: true } })).warnings, []);
});
