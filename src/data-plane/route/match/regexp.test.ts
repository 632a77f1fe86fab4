import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requestOf, type RequestFacts } from '../../../../test/support/route-fixtures.ts';
import { ConfigError } from '../../../shared/config-error.ts';
import type { MatcherPlan } from '../../../shared/plan/types.ts';
import { createPathReader } from '../path.ts';
import { NO_FACTS } from '../placeholder/placeholder.ts';
import type { RequestView } from '../request-view.ts';
import { compileTemplate } from '../template.ts';
import { compileSets } from './compile.ts';

const CONTEXT = { facts: NO_FACTS, readPath: createPathReader() };

function matched(plan: MatcherPlan, request: RequestView): boolean {
  return compileSets([[plan]], CONTEXT)!(request);
}

function path(pattern: string, name = ''): MatcherPlan {
  return { kind: 'path_regexp', regexp: { name, pattern } };
}

function shown(text: string, request: RequestView): string {
  return compileTemplate(text, 'all', { encoding: 'text' }).render(request);
}

function caught(plan: MatcherPlan, facts: RequestFacts, text: string): string {
  const request = requestOf(facts);
  assert.equal(matched(plan, request), true);
  return shown(text, request);
}

describe('path_regexp', () => {
  test('searches the path, decoded, without dot segments and double slashes; letter case counts', () => {
    for (const [pattern, target, wanted] of [
      ['^/a', '/abc', true],
      ['b', '/abc?x', true],
      ['^/A', '/abc', false],
      ['^/a b$', '/a%20b', true],
      ['^/admin', '/x/..//admin', true],
      ['^/admin', '/%61dmin', true],
      ['x', '/a?x', false],
      ['^/中$', '/%E4%B8%AD', true],
    ] as const) {
      assert.equal(matched(path(pattern), requestOf({ target })), wanted, `${pattern} ${target}`);
    }
  });

  test('groups are read by number and name, with the name of the matcher and without', () => {
    const plan = path('^/(?P<kind>\\w+)/(\\d+)(/z)?', 'm');
    const target = '/user/42?x';
    assert.equal(caught(plan, { target }, '{http.regexp.m.0}|{http.regexp.m.1}|{http.regexp.m.2}'), '/user/42|user|42');
    assert.equal(caught(plan, { target }, '{http.regexp.m.kind} {http.regexp.kind} {http.regexp.2}'), 'user user 42');
    assert.equal(caught(plan, { target }, '[{http.regexp.m.3}][{http.regexp.m.9}][{http.regexp.other.0}]'), '[][][]');
  });

  test('bytes of the path come out of a group as they were', () => {
    assert.equal(caught(path('/(.*)'), { target: '/%E4%B8%AD' }, '{http.regexp.1}'), '\xe4\xb8\xad');
    assert.equal(caught(path('/(.*)'), { target: '/%E4' }, '{http.regexp.1}'), '\xe4');
  });

  test('no match leaves no groups, the next match replaces them', () => {
    const request = requestOf({ target: '/a' });
    assert.equal(matched(path('x'), request), false);
    assert.equal(request.notes, null);
    matched(path('(a)', 'm'), request);
    matched(path('/(.)', 'm'), request);
    assert.equal(shown('{http.regexp.m.1}', request), 'a');
    assert.equal(shown('{http.regexp.m.0}', request), '/a');
  });

  test('what a group caught cannot become an escape or a query when it is written into a target', () => {
    const request = requestOf({ target: '/%252e%252e%253fx=1%3F%23' });
    matched(path('^/(.*)$'), request);
    const render = compileTemplate('/new/{http.regexp.1}', 'all', { encoding: 'target' }).render;
    assert.equal(render(request), '/new/%252e%252e%253fx=1%3F%23');
  });

  test('a long path and a pattern that makes other engines hang are done in linear time', () => {
    const request = requestOf({ target: `/${'a'.repeat(16_000)}!` });
    assert.equal(matched(path('^/(a+)+$'), request), false);
    assert.equal(matched(path('(a*)*b'), request), false);
  });

  test('what RE2 does not have is an error at load', () => {
    for (const pattern of ['(', '(?=a)', '(a)\\1', '[z-a]']) {
      assert.throws(() => compileSets([[path(pattern)]], CONTEXT), ConfigError, pattern);
    }
  });
});

describe('header_regexp', () => {
  const header = (fields: Record<string, string>, name = ''): MatcherPlan => ({
    kind: 'header_regexp',
    fields: Object.fromEntries(Object.entries(fields).map(([field, pattern]) => [field, { name, pattern }])),
  });

  test('every field needs one line that fits', () => {
    const facts = { fields: ['X-A', 'one', 'x-a', 'two', 'X-B', 'three'] };
    assert.equal(matched(header({ 'X-A': '^two$' }), requestOf(facts)), true);
    assert.equal(matched(header({ 'X-A': 'one', 'X-B': 'th' }), requestOf(facts)), true);
    assert.equal(matched(header({ 'X-A': 'one', 'X-B': 'x' }), requestOf(facts)), false);
    assert.equal(matched(header({ 'X-C': '' }), requestOf(facts)), false);
  });

  test('the first line that fits is captured; Host has its port', () => {
    const facts = { host: 'a.example:81', fields: ['X-A', 'none', 'X-A', 'v12', 'X-A', 'v34'] };
    assert.equal(caught(header({ 'X-A': 'v(\\d+)' }, 'm'), facts, '{http.regexp.m.1}'), '12');
    assert.equal(caught(header({ Host: ':(\\d+)$' }), facts, '{http.regexp.1}'), '81');
  });
});

describe('vars and vars_regexp', () => {
  function withVars(vars: Record<string, string>): RequestView {
    const request = requestOf({ target: '/t', client: '203.0.113.9' });
    for (const [name, value] of Object.entries(vars)) request.vars.set(name, value);
    return request;
  }

  test('every variable needs one of its values', () => {
    const plan: MatcherPlan = { kind: 'vars', vars: { a: ['1', '2'], b: ['{http.request.uri.path}'] } };
    assert.equal(matched(plan, withVars({ a: '2', b: '/t' })), true);
    assert.equal(matched(plan, withVars({ a: '3', b: '/t' })), false);
    assert.equal(matched(plan, withVars({ a: '2' })), false);
  });

  test('a key in braces is any placeholder; the client address cannot be overwritten', () => {
    assert.equal(matched({ kind: 'vars', vars: { '{http.request.uri}': ['/t'] } }, withVars({})), true);
    const client: MatcherPlan = { kind: 'vars', vars: { client_ip: ['203.0.113.9'] } };
    assert.equal(matched(client, withVars({ client_ip: '10.0.0.1' })), true);
  });

  test('vars_regexp searches and captures', () => {
    const request = withVars({ a: 'v7' });
    const plan: MatcherPlan = { kind: 'vars_regexp', vars: { a: { name: 'm', pattern: '^v(\\d)$' } } };
    assert.equal(matched(plan, request), true);
    assert.equal(shown('{http.regexp.m.1}', request), '7');
    assert.equal(matched(plan, withVars({ a: 'w7' })), false);
  });
});

test('error_status holds only for the error that is answered, by code or class', () => {
  const plan: MatcherPlan = { kind: 'error_status', status: [404, 5] };
  const request = requestOf();
  assert.equal(matched(plan, request), false);
  for (const [status, wanted] of [
    [404, true],
    [403, false],
    [500, true],
    [599, true],
    [499, false],
  ] as const) {
    const failed = requestOf();
    matched(path('/'), failed);
    failed.notes!.error = { status, message: '' };
    assert.equal(matched(plan, failed), wanted, String(status));
  }
});
