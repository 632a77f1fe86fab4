import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requestOf, respond, responseOps, type RequestFacts } from '../../../test/support/route-fixtures.ts';
import { ConfigError } from '../../shared/config-error.ts';
import type { ResponseHeaderOpsPlan, StaticResponsePlan } from '../../shared/plan/types.ts';
import { createRouteState, type RespondDecision } from './decision.ts';
import { NO_FACTS } from './placeholder/placeholder.ts';
import { compileResponseOps, finishOwnFields, finishProxiedFields, type CompiledResponseOps } from './response-ops.ts';
import { compileStaticResponse } from './static-response.ts';

function compiled(ops: Partial<ResponseHeaderOpsPlan>): CompiledResponseOps {
  return compileResponseOps(responseOps(ops), NO_FACTS);
}

function answered(
  body: string,
  rest: Partial<StaticResponsePlan> = {},
  facts: RequestFacts = {},
  early: string[] = [],
): RespondDecision {
  const state = { ...createRouteState(), responseFields: early };
  const decision = compileStaticResponse(respond(body, rest), NO_FACTS)(requestOf(facts), state);
  assert.equal(decision.kind, 'respond');
  return decision;
}

describe('operations on a proxied response', () => {
  const upstream = ['X', 'upstream', 'Set-Cookie', 'a=1', 'set-cookie', 'b=2'];

  function finished(
    down: CompiledResponseOps | null,
    early: string[],
    deferred: CompiledResponseOps[],
    status = 200,
  ): string[] {
    const fields = [...upstream];
    finishProxiedFields(fields, status, down, { responseFields: early, responseOps: deferred }, requestOf());
    return fields;
  }

  test('fields set early stand beside those of the upstream; deferred ones replace them', () => {
    assert.deepEqual(finished(null, ['X', 'early'], []), ['X', 'early', ...upstream]);
    assert.deepEqual(finished(null, [], [compiled({ set: [['X', ['late']]] })]), ['X', 'late', ...upstream.slice(2)]);
  });

  test('header_down comes first, then deferred operations from the inside out', () => {
    const outer = compiled({ add: [['T', ['outer']]] });
    const inner = compiled({ add: [['T', ['inner']]] });
    const fields = finished(compiled({ add: [['T', ['down']]] }), [], [outer, inner]);
    assert.deepEqual(fields.slice(upstream.length), ['T', 'down', 'T', 'inner', 'T', 'outer']);
  });

  test('a condition on status or fields is looked at when the response is there', () => {
    const set = { set: [['R', ['1']]] } as const;
    const cases: readonly (readonly [require: ResponseHeaderOpsPlan['require'], status: number, applies: boolean])[] = [
      [{ status: [404], headers: {} }, 404, true],
      [{ status: [404], headers: {} }, 405, false],
      [{ status: [4, 200], headers: {} }, 451, true],
      [{ status: [], headers: { X: ['up*'] } }, 200, true],
      [{ status: [], headers: { X: ['down'] } }, 200, false],
      [{ status: [], headers: { Y: null } }, 200, true],
      [{ status: [], headers: { X: null } }, 200, false],
      [{ status: [], headers: { X: [] } }, 200, true],
      [{ status: [5], headers: { X: [] } }, 200, false],
    ];
    for (const [require, status, applies] of cases) {
      assert.equal(
        finished(null, [], [compiled({ ...set, require })], status).includes('R'),
        applies,
        JSON.stringify(require),
      );
    }
  });
});

test('a response of our own takes the place of early fields of the same name', () => {
  const left = { responseFields: ['A', 'early', 'B', '2'], responseOps: [compiled({ delete: ['B'] })] };
  const own = ['a', 'own', 'Set-Cookie', 'x=1', 'Set-Cookie', 'y=2'];
  assert.deepEqual(finishOwnFields(own, 200, left, requestOf()), own);
});

describe('static responses', () => {
  test('status, fields and body are templates', () => {
    const rest = {
      statusCode: '{http.request.header.S}',
      headers: { Location: ['https://{http.request.host}{http.request.uri}'] },
    };
    const decision = answered('to {http.request.host}', rest, { target: '/a%2Fb?c', fields: ['S', '308'] });
    assert.equal(decision.status, 308);
    assert.deepEqual(decision.fields.slice(0, 2), ['Location', 'https://example.com/a%2Fb?c']);
    assert.equal(decision.body, 'to example.com');
  });

  test('a path in Location cannot begin a new line', () => {
    const rest = { headers: { Location: ['{http.request.uri.path}'] } };
    assert.deepEqual(answered('', rest, { target: '/%0d%0aSet-Cookie:a=b' }).fields, [
      'Location',
      '/%0D%0ASet-Cookie:a=b',
    ]);
  });

  test('a body is text, or JSON when all of it is an object or an array', () => {
    const cases: readonly (readonly [body: string, type: string])[] = [
      ['hello', 'text/plain; charset=utf-8'],
      ['{"a":1}', 'application/json'],
      [' [1, 2]\n', 'application/json'],
      ['{a}', 'text/plain; charset=utf-8'],
      ['{}', 'text/plain; charset=utf-8'],
      ['"x"', 'text/plain; charset=utf-8'],
    ];
    for (const [body, type] of cases) assert.deepEqual(answered(body).fields, ['Content-Type', type]);
    assert.deepEqual(answered('').fields, []);
  });

  test('a type that is set, here or by a header handler before, stays', () => {
    assert.deepEqual(answered('x', { headers: { 'content-type': ['text/html'] } }).fields, [
      'content-type',
      'text/html',
    ]);
    assert.deepEqual(answered('x', {}, {}, ['Content-Type', 'text/css']).fields, []);
  });

  test('a body is text: bytes of the request are read as UTF-8', () => {
    assert.equal(answered('é {http.request.uri.query.q}', {}, { target: '/?q=%C3%A9' }).body, 'é é');
  });

  test('a status that is none is an error at load, or 500 when a placeholder made it', () => {
    for (const statusCode of ['abc', '99', '103', '1000', '-200', '2e2']) {
      assert.throws(() => answered('', { statusCode }), ConfigError);
    }
    assert.equal(answered('', { statusCode: '{http.request.header.S}' }, { fields: ['S', '101'] }).status, 500);
    assert.equal(answered('', { statusCode: '' }).status, 200);
  });

  test('framing fields are not taken from the configuration', () => {
    const headers = { 'Content-Length': ['9'], 'Transfer-Encoding': ['chunked'], A: ['1', '2'] };
    assert.deepEqual(answered('', { headers }).fields, ['A', '1', 'A', '2']);
  });
});
