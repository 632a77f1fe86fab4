import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  headerOps,
  proxyTo,
  requestOf,
  respond,
  responseOps,
  rewrite,
  routeOf,
  siteOf,
  type RequestFacts,
} from '../../../test/support/route-fixtures.ts';
import { parseIp } from '../../shared/net/ip.ts';
import type { HandlerPlan, MatcherPlan, RoutePlan } from '../../shared/plan/types.ts';
import { compileSites } from './compile.ts';
import { createRouteState, type Decision, type RouteState } from './decision.ts';
import type { RequestView } from './request-view.ts';

interface Routed {
  readonly decision: Decision<string> | null;
  readonly request: RequestView;
  readonly state: RouteState;
}

function routed(routes: readonly RoutePlan[], facts: RequestFacts = {}): Routed {
  const request = requestOf(facts);
  const state = createRouteState();
  const decision = compileSites(routes.map(siteOf), (hash) => `pool ${hash}`).route(request, state);
  return { decision, request, state };
}

/** Body of the response, or the pool; null when nothing answered. */
function answer(routes: readonly RoutePlan[], facts: RequestFacts = {}): string | null {
  const { decision } = routed(routes, facts);
  if (decision?.kind === 'respond') return decision.body;
  return decision?.kind === 'proxy' ? decision.pool : (decision?.kind ?? null);
}

function path(pattern: string): MatcherPlan {
  return { kind: 'path', paths: [pattern] };
}

function subroute(...routes: readonly RoutePlan[]): HandlerPlan {
  return { handler: 'subroute', routes };
}

describe('a chain of routes', () => {
  test('the first handler that answers ends it', () => {
    const routes = [
      routeOf([path('/a')], [respond('a')]),
      routeOf([], [respond('first')]),
      routeOf([], [respond('second')]),
    ];
    assert.equal(answer(routes, { target: '/a' }), 'a');
    assert.equal(answer(routes, { target: '/b' }), 'first');
  });

  test('null when nobody answers', () => {
    assert.equal(answer([]), null);
    assert.equal(answer([routeOf([path('/a')], [respond('a')])]), null);
    assert.equal(answer([routeOf([], [{ handler: 'vars', vars: {} }])]), null);
  });

  test('a subroute that does not answer goes on behind itself', () => {
    const inner = subroute(routeOf([path('/x')], [respond('inner')]));
    assert.equal(answer([routeOf([], [inner, respond('behind')])], { target: '/x' }), 'inner');
    assert.equal(answer([routeOf([], [inner, respond('behind')])], { target: '/y' }), 'behind');
  });

  test('a terminal route that did not answer ends everything, from inside a subroute too', () => {
    const quiet: HandlerPlan = { handler: 'vars', vars: {} };
    const terminal = routeOf([path('/x')], [quiet], { terminal: true });
    assert.equal(answer([terminal, routeOf([], [respond('later')])], { target: '/x' }), null);
    assert.equal(answer([terminal, routeOf([], [respond('later')])], { target: '/y' }), 'later');
    assert.equal(answer([routeOf([], [subroute(terminal), respond('later')])], { target: '/x' }), null);
  });

  test('of a group only the first route that matches runs', () => {
    const quiet = (name: string): HandlerPlan => ({ handler: 'vars', vars: { ran: `{http.vars.ran}${name}` } });
    const inGroup = (pattern: string, name: string, group: string): RoutePlan =>
      routeOf([path(pattern)], [quiet(name)], { group });
    const list = [inGroup('/b', '0', 'g'), inGroup('/*', '1', 'g'), inGroup('/a', '2', 'g'), inGroup('/a', '3', 'h')];
    const last = routeOf([], [respond('{http.vars.ran}')]);
    assert.equal(answer([routeOf([], [subroute(...list)]), last], { target: '/a' }), '13');
    assert.equal(answer([...list, last], { target: '/a' }), '13');
    assert.equal(answer([routeOf([], [subroute(list[1]!), subroute(list[1]!)]), last], { target: '/a' }), '11');
  });

  test('a rewrite is seen by later matchers and stays in force behind its subroute', () => {
    const cut = subroute(routeOf([path('/api/*')], [rewrite({ stripPathPrefix: '/api' })]));
    const routes = [routeOf([], [cut]), routeOf([path('/users*')], [proxyTo('users')])];
    const { decision, request } = routed(routes, { target: '/api/users%2F1?x=/api' });
    assert.equal(decision?.kind === 'proxy' ? decision.pool : null, 'pool users');
    assert.equal(request.target, '/users%2F1?x=/api');
  });

  test('a request that nobody rewrites keeps its target', () => {
    const { request } = routed([routeOf([path('/b')], [proxyTo('p')])], { target: '/a/..//%62?x' });
    assert.equal(request.target, '/a/..//%62?x');
  });

  test('variables are rendered when their handler runs', () => {
    const vars: HandlerPlan = { handler: 'vars', vars: { was: '{http.request.uri}' } };
    assert.equal(
      answer([routeOf([], [vars, rewrite({ uri: '/new' }), respond('{http.vars.was}')])], { target: '/old' }),
      '/old',
    );
  });

  test('abort drops the connection', () =>
    assert.equal(answer([routeOf([], [respond('', { abort: true })])]), 'abort'));
});

describe('what handlers leave behind', () => {
  test('header operations are collected in order, only of routes that ran', () => {
    const headers = (value: string, deferred: boolean): HandlerPlan => ({
      handler: 'headers',
      request: headerOps({ add: [['X', [value]]] }),
      response: responseOps({ add: [['Y', [value]]], deferred }),
    });
    const routes = [
      routeOf([path('/none')], [headers('0', false)]),
      routeOf([], [headers('1', false)]),
      routeOf([], [headers('{http.request.uri}', true), rewrite({ uri: '/new' }), proxyTo('p')]),
    ];
    const { state, request } = routed(routes, { target: '/old' });
    assert.deepEqual(
      [0, 1, 2].map((line) => request.head.valueOf(line)),
      ['example.com', '1', '/old'],
    );
    assert.equal(request.head.count, 3);
    assert.deepEqual(state.responseFields, ['Y', '1']);
    assert.equal(state.responseOps.length, 1);
  });

  test('a state that is used again holds nothing of the request before', () => {
    const headers: HandlerPlan = {
      handler: 'headers',
      request: headerOps(),
      response: responseOps({ set: [['A', ['1']]] }),
    };
    const router = compileSites([siteOf(routeOf([path('/a')], [headers]))], (hash) => hash);
    const state = createRouteState();
    router.route(requestOf({ target: '/a' }), state);
    assert.equal(state.responseFields.length, 2);
    router.route(requestOf({ target: '/b' }), state);
    assert.deepEqual(state, createRouteState());
  });
});

describe('a proxy decision', () => {
  const plan: HandlerPlan = {
    handler: 'reverse_proxy',
    pool: 'p',
    trustedProxies: ['10.0.0.0/8'],
    retryMatch: [],
    requestBufferBytes: 0,
    headersUp: headerOps({ set: [['X', ['{http.reverse_proxy.upstream.hostport}']]] }),
    headersDown: null,
    handleResponse: [],
  };

  test('says whom it trusts and whether its headers depend on the upstream', () => {
    const { decision } = routed([routeOf([], [plan])]);
    assert.ok(decision?.kind === 'proxy');
    assert.equal(decision.usesProxyValues, true);
    assert.equal(decision.trusted?.contains(parseIp('10.1.1.1')!), true);
    const plain = routed([routeOf([], [proxyTo('p')])]).decision;
    assert.ok(plain?.kind === 'proxy');
    assert.equal(plain.usesProxyValues, false);
    assert.equal(plain.trusted, null);
  });

  test('is the same object for every request, and its pool is asked for once', () => {
    let asked = 0;
    const router = compileSites([siteOf(routeOf([], [plan]))], () => (asked += 1));
    const first = router.route(requestOf(), createRouteState());
    assert.equal(router.route(requestOf({ target: '/other' }), createRouteState()), first);
    assert.equal(asked, 1);
  });
});

describe('sites by host', () => {
  const HOSTS = ['a.test', 'b.test', 'x.a.test', '*.a.test', '*.test', 'A.test'] as const;
  const site = fc.record({
    hosts: fc.option(fc.array(fc.constantFrom(...HOSTS), { maxLength: 3 })),
    withPath: fc.boolean(),
    alternative: fc.boolean(),
    terminal: fc.boolean(),
    group: fc.constantFrom('', 'g'),
    answers: fc.boolean(),
  });

  /** Slow and obvious: every site in order, with a matcher written here. */
  function walk(
    sites: readonly (typeof site extends fc.Arbitrary<infer Site> ? Site : never)[],
    host: string,
    target: string,
  ): string {
    const passed: number[] = [];
    let spent = false;
    for (const [index, { hosts, withPath, alternative, terminal, group, answers }] of sites.entries()) {
      const named = hosts === null || hosts.some((pattern) => fits(pattern.toLowerCase(), host));
      const matched = (named && (!withPath || target === '/p')) || (alternative && target === '/alt');
      if (!matched || (group === 'g' && spent)) continue;
      if (group === 'g') spent = true;
      passed.push(index);
      if (answers) return `${passed.join()}!`;
      if (terminal) break;
    }
    return passed.join();
  }

  function fits(pattern: string, host: string): boolean {
    if (!pattern.startsWith('*')) return pattern === host;
    return host.split('.').length === pattern.split('.').length && host.endsWith(pattern.slice(1));
  }

  test('the index gives the answer of a walk through all sites in order', () => {
    const hosts = fc.constantFrom('a.test', 'b.test', 'x.a.test', 'y.a.test', 'c.test', '', 'test');
    fc.assert(
      fc.property(
        fc.array(site, { maxLength: 6 }),
        hosts,
        fc.constantFrom('/', '/p', '/alt'),
        (sites, host, target) => {
          const routes = sites.map(
            ({ hosts: named, withPath, alternative, terminal, group, answers }, index): RoutePlan => {
              const matchers: MatcherPlan[] = named === null ? [] : [{ kind: 'host', hosts: named }];
              if (withPath) matchers.unshift(path('/p'));
              const trace: HandlerPlan = { handler: 'vars', vars: { trace: `{http.vars.trace},${index}` } };
              const match = alternative ? [matchers, [path('/alt')]] : [matchers];
              return { match, handle: answers ? [trace, respond('')] : [trace], group, terminal };
            },
          );
          const { decision, request } = routed(routes, { host, target });
          const trace = (request.vars.get('trace') ?? '').slice(1);
          assert.equal(trace + (decision === null ? '' : '!'), walk(sites, host, target));
        },
      ),
      { numRuns: 1000 },
    );
  });
});

test('nothing a peer sends makes routing throw', () => {
  const bytes = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) });
  const matchers: MatcherPlan[] = [
    { kind: 'host', hosts: ['*.test', 'a.test'] },
    { kind: 'path', paths: ['/a*b', '/%41*', '/x//[a-z]*/?', '*end', '*mid*'] },
    { kind: 'query', query: { a: ['{http.request.header.X}'] } },
    { kind: 'header', header: { X: ['*{http.request.uri.query.q}*'], Y: null } },
  ];
  const rules = [{ search: '', searchRegexp: '(.)(?P<n>.*)', replace: '${n}$1{http.request.uri}' }];
  const routes = [
    ...matchers.map((matcher) =>
      routeOf([{ kind: 'not', sets: [[matcher]] }], [{ handler: 'vars', vars: { v: '{http.request.cookie.c}' } }]),
    ),
    routeOf(
      [],
      [
        {
          handler: 'headers',
          request: null,
          response: responseOps({ set: [['X', ['{http.request.header.X}']]], replace: [['X', rules]] }),
        },
        rewrite({
          uri: '/n{http.request.uri}',
          stripPathPrefix: '{http.request.header.X}',
          method: '{http.request.method}',
        }),
        respond('{http.request.uri.path.0}', {
          statusCode: '{http.request.header.X}',
          headers: { Location: ['{http.request.uri}'] },
        }),
      ],
    ),
  ];
  fc.assert(
    fc.property(bytes, bytes, bytes, bytes, (target, host, field, method) => {
      const { decision, state } = routed(routes, { target, host, method, fields: ['X', field, 'Cookie', field] });
      assert.equal(decision?.kind, 'respond');
      // oxlint-disable-next-line no-control-regex
      for (const value of state.responseFields) assert.match(value, /^[^\u0000-\u0008\u000a-\u001f\u007f]*$/);
    }),
  );
});
