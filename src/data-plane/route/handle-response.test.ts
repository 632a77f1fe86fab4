import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HandlerPlan, HandleResponsePlan } from '../../shared/plan/types.ts';
import { proxyTo, requestOf, respond, routeOf, siteOf } from '../../../test/support/route-fixtures.ts';
import { compileSites } from './compile.ts';
import { createRouteState } from './decision.ts';

function proxyWith(pool: string, entries: readonly Partial<HandleResponsePlan>[]): HandlerPlan {
  const plan = proxyTo(pool);
  assert.ok(plan.handler === 'reverse_proxy');
  return { ...plan, handleResponse: entries.map((entry) => ({ match: null, statusCode: '', routes: [], ...entry })) };
}

const ANSWER = { status: 200, reason: 'OK', fields: ['X-A', '1'] };

/** Routes, and follows `handle_response` until something else than a proxy with one answers. */
function run(routes: Parameters<typeof siteOf>[0]): unknown[] {
  const router = compileSites([siteOf(routes)], (hash) => hash);
  const state = createRouteState();
  const request = requestOf({});
  const seen: unknown[] = [];
  let decision = router.route(request, state);
  while (decision?.kind === 'proxy') {
    seen.push(decision.pool);
    if (decision.handleResponse === null) return seen;
    const next = decision.handleResponse.decide(request, state, ANSWER);
    if (next?.kind === 'pass') return [...seen, next.status];
    decision = next;
  }
  return [...seen, decision?.kind === 'respond' ? decision.body : (decision?.kind ?? null)];
}

test('an entry that does not answer goes on behind its proxy, through every list around it', () => {
  const inner = routeOf(
    [],
    [proxyWith('a', [{}]), proxyWith('b', [{ routes: [routeOf([], [proxyWith('c', [{}])])] }])],
  );
  const outer = routeOf(
    [],
    [{ handler: 'subroute', routes: [inner, routeOf([], [proxyWith('d', [{}])])] }, respond('end')],
  );
  assert.deepEqual(run(outer), ['a', 'b', 'c', 'd', 'end']);
});

test('of a group only the first route runs, also when a proxy of it did not answer', () => {
  const routes = [
    routeOf([], [proxyWith('a', [{}])], { group: 'g' }),
    routeOf([], [proxyTo('b')], { group: 'g' }),
    routeOf([], [proxyTo('c')]),
  ];
  assert.deepEqual(run(routeOf([], [{ handler: 'subroute', routes }])), ['a', 'c']);
});

test('nothing runs behind a terminal route', () => {
  const routes = [routeOf([], [proxyWith('a', [{}])], { terminal: true }), routeOf([], [proxyTo('b')])];
  assert.deepEqual(run(routeOf([], [{ handler: 'subroute', routes }, respond('end')])), ['a', null]);
});

test('a response that no entry fits passes, and a placeholder that is no status is our fault', () => {
  const none = proxyWith('a', [{ match: { status: [5], headers: {} }, routes: [routeOf([], [respond('no')])] }]);
  assert.deepEqual(run(routeOf([], [none])), ['a', 200]);
  assert.deepEqual(run(routeOf([], [proxyWith('a', [{ statusCode: '{http.request.method}' }])])), ['a', 500]);
});
