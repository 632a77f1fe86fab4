import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { requestOf, type RequestFacts } from '../../../test/support/route-fixtures.ts';
import { ConfigError } from '../../shared/config-error.ts';
import { compileTemplate } from './template.ts';

function render(text: string, facts: RequestFacts = {}): string {
  return compileTemplate(text, 'all', { encoding: 'text' }).render(requestOf(facts));
}

describe('placeholders of the request', () => {
  const facts: RequestFacts = {
    method: 'POST',
    target: '/docs/a%20b/file.tar.gz?q=x%26y&q=2&empty',
    host: 'www.Example.com:8443',
    fields: ['X-Tag', 'one', 'x-tag', 'two', 'Cookie', 'a=1; lb=xyz', 'Cookie', 'lb=second'],
  };
  const cases: readonly (readonly [name: string, value: string])[] = [
    ['method', 'POST'],
    ['scheme', 'http'],
    ['host', 'www.example.com'],
    ['hostport', 'www.Example.com:8443'],
    ['port', '8443'],
    ['proto', 'HTTP/1.1'],
    ['remote', '192.0.2.1:50000'],
    ['remote.host', '192.0.2.1'],
    ['remote.port', '50000'],
    ['local', '127.0.0.1:8080'],
    ['uuid', '00000000-0000-4000-8000-000000000000'],
    ['uri', '/docs/a%20b/file.tar.gz?q=x%26y&q=2&empty'],
    ['uri_escaped', '%2Fdocs%2Fa%2520b%2Ffile.tar.gz%3Fq%3Dx%2526y%26q%3D2%26empty'],
    ['uri.path', '/docs/a b/file.tar.gz'],
    ['uri.path_escaped', '%2Fdocs%2Fa%20b%2Ffile.tar.gz'],
    ['uri.path.dir', '/docs/a b/'],
    ['uri.path.file', 'file.tar.gz'],
    ['uri.path.file.base', 'file.tar'],
    ['uri.path.file.ext', '.gz'],
    ['uri.path.0', 'docs'],
    ['uri.path.1', 'a b'],
    ['uri.path.9', ''],
    ['uri.query', 'q=x%26y&q=2&empty'],
    ['uri.prefixed_query', '?q=x%26y&q=2&empty'],
    ['uri.query.q', 'x&y,2'],
    ['uri.query.nothing', ''],
    ['header.X-Tag', 'one,two'],
    ['header.host', 'www.Example.com:8443'],
    ['header.Absent', ''],
    ['cookie.lb', 'xyz'],
    ['cookie.absent', ''],
    ['host.labels.0', 'com'],
    ['host.labels.2', 'www'],
    ['host.labels.3', ''],
  ];
  for (const [name, value] of cases) {
    test(`{http.request.${name}} is ${JSON.stringify(value)}`, () => {
      assert.equal(render(`{http.request.${name}}`, facts), value);
    });
  }

  test('the original target and method survive a rewrite', () => {
    const request = requestOf({ target: '/old?a=1' });
    request.target = '/new';
    request.method = 'PUT';
    const template = compileTemplate('{http.request.orig_method} {http.request.orig_uri} {http.request.uri}', 'all');
    assert.equal(template.render(request), 'GET /old?a=1 /new');
  });

  test('the derived client address cannot be changed by a variable of the same name', () => {
    const request = requestOf({ client: '203.0.113.7' });
    request.vars.set('client_ip', '10.0.0.1');
    assert.equal(compileTemplate('{http.vars.client_ip}', 'all').render(request), '203.0.113.7');
  });

  test('names that are properties of every object are unknown', () => {
    for (const name of ['http.request.constructor', 'http.request.uriconstructor', 'time.toString', 'toString']) {
      assert.equal(render(`[{${name}}]`), '[]');
    }
  });
});

describe('placeholders of the process', () => {
  const system = { hostname: 'lb-1', os: 'linux', arch: 'amd64', workingDirectory: '/srv', slash: '/' };
  const facts = { env: { NAME: 'é', EMPTY: undefined }, system };

  test('environment and system values are constants, in UTF-8 bytes', () => {
    const template = compileTemplate('{env.NAME}|{env.EMPTY}|{env.constructor}|{system.hostname}', 'all', { facts });
    assert.equal(template.constant, '\u00c3\u00a9|||lb-1');
  });

  test('times are shown in UTC', () => {
    assert.equal(render('{time.now.http}'), 'Mon, 30 Nov 2026 09:13:27 GMT');
    assert.equal(render('{time.now.common_log}'), '30/Nov/2026:09:13:27 +0000');
    assert.equal(render('{time.now}'), '2026-11-30 09:13:27.005 +0000 UTC');
    assert.equal(render('{time.now.unix} {time.now.unix_ms} {time.now.year}'), '1796030007 1796030007005 2026');
  });
});

describe('text around placeholders', () => {
  test('escaped braces are braces', () => {
    assert.equal(render(String.raw`\{http.request.host\}`), '{http.request.host}');
  });

  test('braces that hold no name are literal: CSS, JSON, an unclosed brace', () => {
    for (const text of ['a { color: red; }', '{"a":1}', 'x{', '{}', '}']) assert.equal(render(text), text);
    assert.equal(render('{"host":"{http.request.host}"}'), '{"host":"example.com"}');
  });

  test('unknown names stay in known mode and vanish in all mode', () => {
    assert.equal(compileTemplate('a{nobody.knows}b', 'known').constant, 'a{nobody.knows}b');
    assert.equal(compileTemplate('a{nobody.knows}b', 'all').constant, 'ab');
  });

  test('a proxy value the exchange does not know is treated as unknown', () => {
    const text = '{http.reverse_proxy.upstream.hostport}';
    assert.equal(compileTemplate(text, 'known').render(requestOf()), text);
    assert.equal(compileTemplate(text, 'all').render(requestOf()), '');
    const proxyValues = { 'http.reverse_proxy.upstream.hostport': '10.0.0.1:80' };
    assert.equal(compileTemplate(text, 'all').render(requestOf({ proxyValues })), '10.0.0.1:80');
    assert.equal(compileTemplate(text, 'all').usesProxyValues, true);
  });

  test('a placeholder of Caddy that does not exist here is an error, not an empty text', () => {
    assert.throws(() => compileTemplate('{file./etc/secret}', 'known'), ConfigError);
  });

  test('line breaks an operator wrote into a field value become spaces', () => {
    assert.equal(
      compileTemplate("default-src 'self';\n  img-src *", 'known').constant,
      "default-src 'self';   img-src *",
    );
  });
});

describe('values are encoded for where they go', () => {
  const target = '/?q=%0d%0aSet-Cookie:%20x%00';

  test('in a field CR, LF and NUL of a query value become escapes', () => {
    const template = compileTemplate('v={http.request.uri.query.q}', 'known');
    assert.equal(template.render(requestOf({ target })), 'v=%0D%0ASet-Cookie: x%00');
  });

  test('in a body they are what the client sent', () => {
    assert.equal(render('{http.request.uri.query.q}', { target }), '\r\nSet-Cookie: x\0');
  });

  test('in a target the path stays escaped as it was, and decoded values are made safe', () => {
    const request = requestOf({ target: '/a%2Fb%20c?q=x%20y%23' });
    const options = { encoding: 'target' } as const;
    assert.equal(compileTemplate('/x{http.request.uri.path}', 'all', options).render(request), '/x/a%2Fb%20c');
    assert.equal(compileTemplate('/{http.request.uri.query.q}', 'all', options).render(request), '/x%20y%23');
  });

  test('in a query a value cannot end its pair', () => {
    const request = requestOf({ fields: ['X', 'a&b=c d'] });
    const template = compileTemplate('k={http.request.header.X}', 'all', { encoding: 'component' });
    assert.equal(template.render(request), 'k=a%26b%3Dc%20d');
  });

  const names = [
    'http.request.uri',
    'http.request.uri.path',
    'http.request.uri.path.1',
    'http.request.uri.path.file',
    'http.request.uri.query.q',
    'http.request.header.X',
    'http.request.cookie.c',
    'http.request.hostport',
    'http.vars.v',
    'http.reverse_proxy.header.X',
    'http.request.method',
  ] as const;
  const bytes = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) });

  test('no rendered field value ever holds a control character, whatever the peer sends', () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), bytes, (name, junk) => {
        const escapes = [...junk].map((byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');
        const request = requestOf({
          target: `/${escapes}/${escapes}${junk}?q=${escapes}`,
          host: junk,
          method: junk,
          fields: ['X', junk, 'Cookie', `c=${junk}`],
          proxyValues: { 'http.reverse_proxy.header.X': junk },
        });
        request.vars.set('v', junk);
        for (const mode of ['known', 'all'] as const) {
          const value = compileTemplate(`<{${name}}>`, mode).render(request);
          // oxlint-disable-next-line no-control-regex
          assert.match(value, /^<[^\u0000-\u0008\u000a-\u001f\u007f]*>$/);
        }
      }),
    );
  });
});
