import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requestOf, type RequestFacts } from '../../../../test/support/route-fixtures.ts';
import { ConfigError } from '../../../shared/config-error.ts';
import { createPathReader } from '../path.ts';
import { NO_FACTS } from '../placeholder/placeholder.ts';
import { compileSets } from './compile.ts';

function holds(expression: string, facts: RequestFacts = {}): boolean {
  const context = { facts: NO_FACTS, readPath: createPathReader() };
  return compileSets([[{ kind: 'expression', expression }]], context)!(requestOf(facts));
}

describe('the other matchers are functions', () => {
  const facts: RequestFacts = {
    method: 'POST',
    target: '/Api/v2/x?debug=1&tag=a',
    host: 'app.example.com:8080',
    fields: ['X-Key', 'k-17', 'Content-Type', 'application/json'],
    peer: '10.0.0.9',
    client: '203.0.113.9',
  };
  const cases: readonly (readonly [expression: string, expected: boolean])[] = [
    ["path('/api/*')", true],
    ["path('/b', '/api/*')", true],
    ["path(['/b', '/c'])", false],
    ["method('GET', 'POST')", true],
    ["method('post')", false],
    ["host('*.example.com')", true],
    ["protocol('http')", true],
    ["protocol('https')", false],
    ["header({'X-Key': 'k-*'})", true],
    ["header({'X-Key': ['a', 'k-17'], 'Content-Type': 'application/*'})", true],
    ["header({'X-Key': 'a'})", false],
    ["query({'debug': '1'}) && query({'tag': ['b', 'a']})", true],
    ["query({'debug': '2'})", false],
    ["remote_ip('10.0.0.0/8')", true],
    ["client_ip('10.0.0.0/8', '2001:db8::/32')", false],
    ["path_regexp(r'^/Api/v\\d/')", true],
    ["path_regexp('version', r'^/Api/v(\\d)/') && {http.regexp.version.1} == '2'", true],
    ["header_regexp('X-Key', r'^k-\\d+$')", true],
    ["header_regexp('key', 'X-Key', r'^z')", false],
    ["vars({'{http.request.method}': ['PUT', 'POST']})", true],
    ["vars_regexp('{http.request.method}', '^P')", true],
  ];
  for (const [expression, expected] of cases) {
    test(`${expression} is ${expected}`, () => assert.equal(holds(expression, facts), expected));
  }
});

describe('placeholders', () => {
  const proxyValues = (values: Readonly<Record<string, string>>): RequestFacts => ({
    proxyValues: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [`http.reverse_proxy.${name}`, value]),
    ),
  });

  test('of responses are numbers, texts and a flag', () => {
    assert.equal(holds('{http.reverse_proxy.status_code} in [502, 503]', proxyValues({ status_code: '503' })), true);
    assert.equal(holds('{http.reverse_proxy.header.X-Retry} == "1"', proxyValues({ 'header.X-Retry': '1' })), true);
    assert.equal(holds('{http.reverse_proxy.is_transport_error}', proxyValues({ is_transport_error: 'true' })), true);
    assert.equal(holds('{http.reverse_proxy.is_transport_error}', proxyValues({ is_transport_error: 'false' })), false);
  });

  test('before there is a response its status equals nothing', () => {
    assert.equal(holds('{http.reverse_proxy.status_code} < 600', proxyValues({ status_code: '' })), false);
    assert.equal(holds('{http.reverse_proxy.status_code} != 200', proxyValues({ status_code: '' })), true);
  });

  test('of the request are texts, empty when they are absent, and compare as UTF-8', () => {
    const cafe = Buffer.from('café').toString('latin1');
    assert.equal(holds('{http.request.header.X-Place} == "café"', { fields: ['X-Place', cafe] }), true);
    assert.equal(holds('{http.request.header.X-Place} == ""'), true);
    assert.equal(holds('{http.request.port} == "8080"', { host: 'a:8080' }), true);
  });
});

describe('what is refused', () => {
  const cases: readonly (readonly [expression: string, message: RegExp])[] = [
    ['{http.request.nothing} == ""', /there is no placeholder \{http\.request\.nothing\}/],
    ['{http.request.port} == 80', /a text never equals an integer/],
    ['path()', /path\(\) takes one or more texts/],
    ["path({'a': 'b'})", /path\(\) takes one or more texts/],
    ["protocol('http', 'https')", /protocol\(\) takes one text/],
    ["protocol('gopher')", /unknown protocol 'gopher'/],
    ["header('X-Key', 'a')", /header\(\) takes one map/],
    ["remote_ip('nowhere')", /nowhere/],
    ["path_regexp('a', 'b', 'c')", /takes 1 or 2 texts/],
    ["header_regexp('X')", /takes 2 or 3 texts/],
    ["file('/a')", /there is no function file\(\)/],
  ];
  for (const [expression, message] of cases) {
    test(expression, () => {
      assert.throws(
        () => holds(expression),
        (error: Error) => error instanceof ConfigError && message.test(error.message),
      );
    });
  }
});
