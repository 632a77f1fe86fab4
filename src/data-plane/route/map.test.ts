import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { requestOf, respond, rewrite, routeOf, siteOf } from '../../../test/support/route-fixtures.ts';
import { ConfigError } from '../../shared/config-error.ts';
import type { HandlerPlan, MapPlan, MappingPlan } from '../../shared/plan/types.ts';
import { compileSites } from './compile.ts';
import { createRouteState } from './decision.ts';

function mapping(input: string, outputs: MappingPlan['outputs']): MappingPlan {
  return { input, inputRegexp: '', outputs };
}

function pattern(inputRegexp: string, outputs: MappingPlan['outputs']): MappingPlan {
  return { input: '', inputRegexp, outputs };
}

function map(plan: Partial<MapPlan>): MapPlan {
  return {
    handler: 'map',
    source: '{http.request.uri.path}',
    destinations: ['x'],
    mappings: [],
    defaults: [],
    ...plan,
  };
}

function answer(handlers: readonly HandlerPlan[], target: string): string {
  const router = compileSites([siteOf(routeOf([], handlers))], (hash) => hash);
  const decision = router.route(requestOf({ target }), createRouteState());
  assert.ok(decision?.kind === 'respond');
  return decision.body;
}

test('the first mapping that fits counts, then the default', () => {
  const plan = map({
    mappings: [mapping('/a', ['one']), pattern('^/b(\\d)$', ['b-$1']), mapping('/b1', ['never'])],
    defaults: ['other {http.request.host}'],
  });
  const shown = (target: string): string => answer([plan, respond('{x}')], target);
  assert.equal(shown('/a'), 'one');
  assert.equal(shown('/b1'), 'b-1');
  assert.equal(shown('/A'), 'other example.com');
});

test('several destinations; a null output leaves one to the mappings behind it', () => {
  const plan = map({
    destinations: ['x', 'y'],
    mappings: [mapping('/a', ['1', null]), pattern('a', ['2', 'two'])],
    defaults: ['dx', 'dy'],
  });
  assert.equal(answer([plan, respond('{x} {y}')], '/a'), '1 two');
  assert.equal(answer([plan, respond('{x} {y}')], '/c'), 'dx dy');
});

test('no mapping and no default: empty; a request that met no map keeps the text as written', () => {
  const plan = map({});
  assert.equal(answer([plan, respond('[{x}]')], '/a'), '[]');
  assert.equal(answer([respond('[{x}]'), plan], '/a'), '[{x}]');
  assert.equal(answer([respond('[{x}]')], '/a'), '[{x}]');
});

test('a destination follows the request: a later rewrite counts', () => {
  const plan = map({ mappings: [mapping('/new', ['after'])], defaults: ['before'] });
  assert.equal(answer([plan, rewrite({ uri: '/new' }), respond('{x}')], '/old'), 'after');
});

test('maps read each other, and a circle ends empty', () => {
  const first = map({ destinations: ['x'], source: '{y}', defaults: ['<{y}>'] });
  const second = map({ destinations: ['y'], mappings: [mapping('/a', ['v'])], defaults: ['({x})'] });
  assert.equal(answer([first, second, respond('{x}')], '/a'), '<v>');
  assert.equal(answer([first, second, respond('{x}')], '/b'), '<()>');
});

test('what a request brings is never read for groups or placeholders again', () => {
  const plan = map({ source: '{http.request.uri.query.q}', mappings: [pattern('^(.*)$', ['[$1]'])] });
  assert.equal(answer([plan, respond('{x}')], '/?q=%241%7Bhttp.request.host%7D'), '[$1{http.request.host}]');
});

test('a destination may be a status', () => {
  const plan = map({ mappings: [mapping('/a', ['404'])], defaults: ['200'] });
  const router = compileSites([siteOf(routeOf([], [plan, respond('', { statusCode: '{x}' })]))], (hash) => hash);
  const decision = router.route(requestOf({ target: '/a' }), createRouteState());
  assert.equal(decision?.kind === 'respond' && decision.status, 404);
});

test('a name that has a meaning already is no destination', () => {
  for (const name of ['http.request.host', 'env.HOME', 'http.vars.a', 'http.regexp.a']) {
    assert.throws(() => compileSites([siteOf(routeOf([], [map({ destinations: [name] })]))], () => ''), ConfigError);
  }
});

test('every table gives what walking it line by line gives', () => {
  const word = fc.constantFrom('a', 'b', 'ab', '');
  const output = fc.option(fc.constantFrom('1', '2', ''), { nil: null });
  const line = fc.oneof(
    fc.record({ input: word, inputRegexp: fc.constant(''), outputs: fc.tuple(output) }),
    fc.record({
      input: fc.constant(''),
      inputRegexp: fc.constantFrom('a', '^b', 'b$', '.'),
      outputs: fc.tuple(output),
    }),
  );
  const table = fc.record({ mappings: fc.array(line, { maxLength: 6 }), defaults: fc.constantFrom([], ['d']) });
  fc.assert(
    fc.property(table, word, ({ mappings, defaults }, input) => {
      const fits = mappings.find(({ outputs, ...rule }) => {
        if (outputs[0] === null) return false;
        return rule.inputRegexp === '' ? rule.input === input : new RegExp(rule.inputRegexp).test(input);
      });
      const wanted = fits?.outputs[0] ?? defaults[0] ?? '';
      const plan = map({ source: '{http.request.uri.query.q}', mappings, defaults });
      assert.equal(answer([plan, respond('{x}')], `/?q=${input}`), wanted);
    }),
  );
});
