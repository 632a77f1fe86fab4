import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  headerOps,
  requestOf,
  respond,
  routeOf,
  siteOf,
  type RequestFacts,
} from '../../../test/support/route-fixtures.ts';
import type { HandlerPlan, HeaderOpsPlan, MatcherPlan } from '../../shared/plan/types.ts';
import { Head } from '../http1/head.ts';
import { DEFAULT_HEAD_LIMITS } from '../http1/limits.ts';
import { parseRequestHead } from '../http1/request-parser.ts';
import { compileSites } from './compile.ts';
import { createRouteState } from './decision.ts';
import { writeFields } from './request-headers.ts';

function requestHeader(ops: Partial<HeaderOpsPlan>): HandlerPlan {
  return { handler: 'headers', request: headerOps(ops), response: null };
}

function answer(ops: Partial<HeaderOpsPlan>, match: MatcherPlan, shown: string, facts: RequestFacts): string {
  const routes = [routeOf([], [requestHeader(ops)]), routeOf([match], [respond(shown)]), routeOf([], [respond('no')])];
  const route = routeOf([], [{ handler: 'subroute', routes }]);
  const decision = compileSites([siteOf(route)], (hash) => hash).route(requestOf(facts), createRouteState());
  assert.ok(decision?.kind === 'respond');
  return decision.body;
}

describe('later matchers and placeholders see', () => {
  const always: MatcherPlan = { kind: 'path', paths: ['*'] };

  test('a field that was set, added, replaced or deleted', () => {
    const facts = { fields: ['X-A', 'old', 'X-B', 'b'] };
    assert.equal(
      answer({ set: [['X-A', ['new']]] }, { kind: 'header', header: { 'X-A': ['new'] } }, 'yes', facts),
      'yes',
    );
    assert.equal(answer({ add: [['X-A', ['2']]] }, always, '{http.request.header.X-A}', facts), 'old,2');
    const rules = [{ search: 'l', searchRegexp: '', replace: '1' }];
    assert.equal(answer({ replace: [['X-A', rules]] }, always, '{http.request.header.X-A}', facts), 'o1d');
    assert.equal(answer({ delete: ['X-*'] }, { kind: 'header', header: { 'X-B': null } }, 'gone', facts), 'gone');
  });

  test('a Host that was set, as host and with its port', () => {
    const set: Partial<HeaderOpsPlan> = { set: [['Host', ['Other.example:8080']]] };
    assert.equal(
      answer(set, { kind: 'host', hosts: ['other.example'] }, '{http.request.hostport}', {}),
      'Other.example:8080',
    );
  });

  test('cookies that were set', () => {
    const set: Partial<HeaderOpsPlan> = { set: [['Cookie', ['a=1; b=2']]] };
    assert.equal(answer(set, always, '{http.request.cookie.b}', { fields: ['Cookie', 'b=9'] }), '2');
  });

  test('nothing that no operation named has changed', () => {
    const request = requestOf({ fields: ['X-A', '\xe4\xb8\xad', 'Connection', 'close', 'x-a', ''] });
    const route = routeOf([], [requestHeader({ set: [['X-B', ['b']]] })]);
    compileSites([siteOf(route)], (hash) => hash).route(request, createRouteState());
    const { head } = request;
    const lines = Array.from({ length: head.count }, (_, line) => `${head.nameOf(line)}: ${head.valueOf(line)}`);
    assert.deepEqual(lines, ['Host: example.com', 'X-A: \xe4\xb8\xad', 'Connection: close', 'x-a: ', 'X-B: b']);
  });
});

const name = fc.constantFrom(
  'Host',
  'Cookie',
  'TE',
  'Via',
  'X-A',
  'x-forwarded-for',
  'Upgrade',
  'Content-Length2',
  'Accept',
);
const value = fc.string({ unit: fc.constantFrom('a', '1', '=', ';', ' ', '\xe9') }).map((text) => text.trim());

test('a head with other lines is the head the parser makes of them', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 12 }), (pairs) => {
      const lines = [['Host', 'a.example'], ...pairs.filter(([field]) => field !== 'Host')] as [string, string][];
      const wanted = new Head();
      const text = lines.map(([field, content]) => `${field}: ${content}\r\n`).join('');
      assert.equal(parseRequestHead(`GET /p HTTP/1.1\r\n${text}\r\n`, wanted, DEFAULT_HEAD_LIMITS), 0);
      const head = new Head();
      parseRequestHead('GET /p HTTP/1.1\r\nHost: b\r\nCookie: x\r\nX-Z: 1\r\n\r\n', head, DEFAULT_HEAD_LIMITS);
      writeFields(head, lines.flat());
      assert.equal(head.text, wanted.text);
      assert.deepEqual(
        [head.count, head.repeated, [...head.first]],
        [wanted.count, wanted.repeated, [...wanted.first]],
      );
      for (let line = 0; line < head.count; line += 1) {
        assert.deepEqual([head.nameOf(line), head.valueOf(line)], [wanted.nameOf(line), wanted.valueOf(line)]);
        assert.equal(head.kinds[line], wanted.kinds[line]);
      }
    }),
    { numRuns: 300 },
  );
});
