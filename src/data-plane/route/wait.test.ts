import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestOf, respond, routeOf, siteOf } from '../../../test/support/route-fixtures.ts';
import type { AuthenticationPlan, HandlerPlan, RoutePlan } from '../../shared/plan/types.ts';
import { compileSites } from './compile.ts';
import { createRouteState, type Decision } from './decision.ts';
import { NO, resumeRoutes, UNAVAILABLE, YES, type ErrandResult } from './wait.ts';

const BCRYPT = '$2b$04$B1Y1/jf0ytrjOd9aA1v0cuvNJcpSAs0zTutBN.QOwce6JC1.CaF36';
const COSTLIER = BCRYPT.replace('$04$', '$05$');

function auth(rest: Partial<AuthenticationPlan> = {}): AuthenticationPlan {
  return { handler: 'authentication', realm: 'r', accounts: [{ username: 'ann', hash: BCRYPT }], cache: true, ...rest };
}

function header(name: string, value: string): HandlerPlan {
  const response = {
    add: [[name, [value]] as const],
    set: [],
    delete: [],
    replace: [],
    deferred: false,
    require: null,
  };
  return { handler: 'headers', request: null, response };
}

interface Ran {
  readonly decision: Decision<string> | null;
  readonly fields: readonly string[];
  readonly errands: readonly unknown[];
}

/** Routes a request of ann's, with these results of its errands. */
function run(routes: readonly RoutePlan[], results: readonly ErrandResult[], user = 'ann'): Ran {
  const router = compileSites<string>(routes.map(siteOf), (hash) => hash);
  const credentials = Buffer.from(`${user}:sesame`).toString('base64');
  const request = requestOf({ fields: ['Authorization', `Basic ${credentials}`] });
  const state = createRouteState();
  const errands: unknown[] = [];
  let decision = router.route(request, state);
  for (const result of results) {
    assert.equal(decision?.kind, 'wait');
    if (decision?.kind !== 'wait') break;
    errands.push(decision.errand);
    decision = resumeRoutes<string>(decision, result, request, state);
  }
  return { decision, fields: state.responseFields, errands };
}

test('what stands behind it runs, list by list, and what stands before it does not run again', () => {
  const inner = routeOf([], [header('Step', '2'), auth(), header('Step', '3')]);
  const outer = routeOf([], [header('Step', '1'), { handler: 'subroute', routes: [inner] }, header('Step', '4')]);
  const { decision, fields } = run([outer, routeOf([], [respond('end')])], [YES]);
  assert.equal(decision?.kind === 'respond' && decision.body, 'end');
  assert.deepEqual(fields, ['Step', '1', 'Step', '2', 'Step', '3', 'Step', '4']);
});

test('a second wait leaves the lists around both for later', () => {
  const inner = routeOf([], [auth(), auth(), header('Step', 'inner')]);
  const outer = routeOf(
    [],
    [{ handler: 'subroute', routes: [inner] }, auth(), header('Step', 'outer'), respond('end')],
  );
  const { decision, fields } = run([outer], [YES, YES, YES]);
  assert.equal(decision?.kind, 'respond');
  assert.deepEqual(fields, ['Step', 'inner', 'Step', 'outer']);
});

test('of a group only the first route runs, also when it waited', () => {
  const routes = [
    routeOf([], [auth()], { group: 'g' }),
    routeOf([], [respond('never')], { group: 'g' }),
    routeOf([], [respond('end')]),
  ];
  const { decision } = run([routeOf([], [{ handler: 'subroute', routes }])], [YES]);
  assert.equal(decision?.kind === 'respond' && decision.body, 'end');
});

test('nothing runs behind a terminal route that waited', () => {
  const routes = [routeOf([], [auth()], { terminal: true }), routeOf([], [respond('never')])];
  assert.equal(run(routes, [YES]).decision, null);
});

test('a wrong password is a 401 with the challenge, one that cannot be checked a 503', () => {
  const routes = [routeOf([], [auth({ realm: 'a "b"' }), respond('in')])];
  const wrong = run(routes, [NO]);
  assert.deepEqual([wrong.decision?.kind === 'error' && wrong.decision.status], [401]);
  assert.deepEqual(wrong.fields, ['WWW-Authenticate', 'Basic realm="a \\"b\\""']);
  const late = run(routes, [UNAVAILABLE]);
  assert.deepEqual([late.decision?.kind === 'error' && late.decision.status, late.fields], [503, []]);
});

test('a name that does not exist is checked by the costliest hash, and refused whatever that says', () => {
  const accounts = [
    { username: 'ann', hash: BCRYPT },
    { username: 'bob', hash: COSTLIER },
  ];
  const { decision, errands } = run([routeOf([], [auth({ accounts }), respond('in')])], [YES], 'eve');
  assert.equal(decision?.kind === 'error' && decision.status, 401);
  assert.deepEqual(errands, [{ kind: 'password', username: 'eve', password: 'sesame', hash: COSTLIER, cache: true }]);
});
