import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requestOf, type RequestFacts } from '../../../../test/support/route-fixtures.ts';
import { ConfigError } from '../../../shared/config-error.ts';
import type { MatcherPlan, MatcherSetPlan } from '../../../shared/plan/types.ts';
import { createPathReader } from '../path.ts';
import { NO_FACTS } from '../placeholder/placeholder.ts';
import { compileSets } from './compile.ts';

function matches(sets: readonly MatcherSetPlan[], facts: RequestFacts): boolean {
  const matcher = compileSets(sets, { facts: NO_FACTS, readPath: createPathReader() });
  return matcher === null || matcher(requestOf(facts));
}

function holds(plan: MatcherPlan, facts: RequestFacts): boolean {
  return matches([[plan]], facts);
}

type Case = readonly [pattern: string, text: string, expected: boolean];

describe('host', () => {
  const cases: readonly Case[] = [
    ['example.com', 'EXAMPLE.com:8080', true],
    ['Example.Com', 'example.com', true],
    ['example.com', 'a.example.com', false],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'a.b.example.com', false],
    ['*.example.com', 'example.com', false],
    ['a.*.com', 'a.b.com', true],
    ['[::1]', '[::1]:80', true],
    ['::1', '[::1]', true],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['example.com', '', false],
  ];
  for (const [pattern, host, expected] of cases) {
    test(`${pattern} ${expected ? 'takes' : 'refuses'} '${host}'`, () => {
      assert.equal(holds({ kind: 'host', hosts: ['other.test', pattern] }, { host }), expected);
    });
  }
});

describe('path', () => {
  const cases: readonly Case[] = [
    ['/foo', '/foo', true],
    ['/foo', '/FOO?x=/bar', true],
    ['/foo', '/foo/', false],
    ['/foo*', '/foobar/baz', true],
    ['/foo/*', '/foo', false],
    ['/foo/*', '/foo/', true],
    ['/foo/*', '//foo//bar', true],
    ['/foo/*', '/x/../foo/bar', true],
    ['/foo/*', '/foo/../bar', false],
    ['/foo/*', '/foo/%2e%2e/bar', false],
    ['/foo/*', '/%66oo/bar', true],
    ['/foo/*', '/foo%2Fbar', true],
    ['*.php', '/a/b.PHP', true],
    ['*.php', '/a/b.php/x', false],
    ['*/admin/*', '/x/admin/y', true],
    ['/a/*/c', '/a/b/c', true],
    ['/a/*/c', '/a/b/b/c', false],
    ['/a//b', '/a//b', true],
    ['/a//b', '/a/b', false],
    ['/a%2Fb', '/a%2fb', true],
    ['/a%2Fb', '/a/b', false],
    ['/a%2Fb/c', '/a%2Fb/%63', true],
    ['/x/%*/y', '/x/a%2Fb/y', true],
    ['/x/%2F*', '/x/%2Fabc', true],
    ['/x/*/%2f', '/x/a%2Fb/%2f', false],
    ['/é', '/%C3%A9', true],
    ['/é', '/\u00c3\u00a9', true],
    ['*', '*', true],
    ['/*', '/anything/at/all', true],
    ['/*', '*', false],
    ['/a%zz', '/a%zz', true],
  ];
  for (const [pattern, target, expected] of cases) {
    test(`${pattern} ${expected ? 'takes' : 'refuses'} ${target}`, () => {
      assert.equal(holds({ kind: 'path', paths: [pattern] }, { target }), expected);
    });
  }
});

describe('query', () => {
  const cases: readonly (readonly [query: Record<string, string[]>, target: string, expected: boolean])[] = [
    [{ a: ['1'] }, '/?a=1', true],
    [{ a: ['1', '2'] }, '/?a=2', true],
    [{ a: ['1'] }, '/?a=2&a=1', true],
    [{ a: ['1'], b: ['*'] }, '/?a=1', false],
    [{ a: ['1'], b: ['*'] }, '/?b&a=1', true],
    [{ a: ['x y'] }, '/?a=x+y', true],
    [{ 'k&': ['v='] }, '/?k%26=v%3D', true],
    [{ a: [''] }, '/?a', true],
    [{ a: ['*'] }, '/', false],
    [{ host: ['{http.request.host}'] }, '/?host=example.com', true],
    [{}, '/', true],
    [{}, '/?', true],
    [{}, '/?a', false],
  ];
  for (const [query, target, expected] of cases) {
    test(`${JSON.stringify(query)} ${expected ? 'takes' : 'refuses'} ${target}`, () => {
      assert.equal(holds({ kind: 'query', query }, { target }), expected);
    });
  }
});

describe('header', () => {
  const fields = ['X-A', 'first', 'x-a', 'second value', 'X-Empty', ''];
  const cases: readonly (readonly [header: Record<string, string[] | null>, expected: boolean])[] = [
    [{ 'x-A': ['first'] }, true],
    [{ 'X-A': ['First'] }, false],
    [{ 'X-A': ['nope', 'second*'] }, true],
    [{ 'X-A': ['*value'] }, true],
    [{ 'X-A': ['*cond v*'] }, true],
    [{ 'X-A': ['*'] }, true],
    [{ 'X-A': ['cond*'] }, false],
    [{ 'X-A': [] }, true],
    [{ 'X-B': [] }, false],
    [{ 'X-B': ['*'] }, false],
    [{ 'X-B': null }, true],
    [{ 'X-A': null }, false],
    [{ 'X-Empty': [] }, true],
    [{ 'X-Empty': [''] }, true],
    [{ Host: ['example.com:80'] }, true],
    [{ host: ['*:80'] }, true],
    [{ Host: null }, false],
    [{ 'X-A': ['first'], 'X-B': ['1'] }, false],
  ];
  for (const [header, expected] of cases) {
    test(`${JSON.stringify(header)} ${expected ? 'holds' : 'does not hold'}`, () => {
      assert.equal(holds({ kind: 'header', header }, { fields, host: 'example.com:80' }), expected);
    });
  }

  test('a value may be a placeholder', () => {
    const plan: MatcherPlan = { kind: 'header', header: { Origin: ['*{http.request.host}'] } };
    assert.equal(holds(plan, { fields: ['Origin', 'https://example.com'] }), true);
    assert.equal(holds(plan, { fields: ['Origin', 'https://evil.test'] }), false);
  });
});

describe('method, protocol and address', () => {
  test('methods are compared with their case', () => {
    assert.equal(holds({ kind: 'method', methods: ['GET', 'PUT'] }, { method: 'PUT' }), true);
    assert.equal(holds({ kind: 'method', methods: ['GET'] }, { method: 'get' }), false);
  });

  test('protocols are schemes, versions and grpc', () => {
    const cases: readonly (readonly [string, RequestFacts, boolean])[] = [
      ['http', {}, true],
      ['https', {}, false],
      ['https', { scheme: 'https' }, true],
      ['http/1.0', { version: 10 }, true],
      ['http/1.1', { version: 10 }, false],
      ['http/1.0+', {}, true],
      ['http/2', {}, false],
      ['grpc', { fields: ['Content-Type', 'application/grpc+proto'] }, true],
      ['grpc', {}, false],
    ];
    for (const [protocol, facts, expected] of cases)
      assert.equal(holds({ kind: 'protocol', protocol }, facts), expected);
    assert.throws(() => holds({ kind: 'protocol', protocol: 'gopher' }, {}), ConfigError);
  });

  test('remote_ip looks at the peer, client_ip at the derived client', () => {
    const facts = { peer: '10.1.2.3', client: '203.0.113.5' };
    assert.equal(holds({ kind: 'remote_ip', ranges: ['10.0.0.0/8'] }, facts), true);
    assert.equal(holds({ kind: 'client_ip', ranges: ['10.0.0.0/8'] }, facts), false);
    assert.equal(holds({ kind: 'client_ip', ranges: ['203.0.113.5'] }, facts), true);
    assert.equal(holds({ kind: 'client_ip', ranges: ['0.0.0.0/0'] }, { client: 'none' }), false);
  });
});

describe('sets', () => {
  const get: MatcherPlan = { kind: 'method', methods: ['GET'] };
  const a: MatcherPlan = { kind: 'path', paths: ['/a'] };
  const https: MatcherPlan = { kind: 'protocol', protocol: 'https' };

  test('matchers of a set are all needed, one set is enough', () => {
    assert.equal(matches([[get, a]], { target: '/a' }), true);
    assert.equal(matches([[get, a, https]], { target: '/a' }), false);
    assert.equal(matches([[https], [a]], { target: '/a' }), true);
    assert.equal(matches([], {}), true);
    assert.equal(matches([[]], {}), true);
  });

  test('not holds when none of its sets does', () => {
    assert.equal(holds({ kind: 'not', sets: [[get, https], [a]] }, { target: '/b' }), true);
    assert.equal(holds({ kind: 'not', sets: [[get, https], [a]] }, { target: '/a' }), false);
    assert.equal(holds({ kind: 'not', sets: [] }, {}), true);
  });
});
