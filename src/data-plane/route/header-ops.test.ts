import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { headerOps, requestOf, type RequestFacts } from '../../../test/support/route-fixtures.ts';
import { ConfigError } from '../../shared/config-error.ts';
import type { HeaderOpsPlan } from '../../shared/plan/types.ts';
import { applyHeaderOps, compileHeaderOps, ignoredFields, type HeaderSide } from './header-ops.ts';
import { NO_FACTS } from './placeholder/placeholder.ts';

const HOST = ['Host', 'example.com'];

function run(
  plan: Partial<HeaderOpsPlan>,
  fields: readonly string[],
  side: HeaderSide = 'request',
  facts: RequestFacts = {},
): string[] {
  const list = [...fields];
  applyHeaderOps(compileHeaderOps(headerOps(plan), side, NO_FACTS), list, requestOf(facts));
  return list;
}

describe('add, set, delete', () => {
  test('add keeps what is there, and one line a value', () => {
    assert.deepEqual(run({ add: [['X-A', ['2', '3']]] }, ['x-a', '1']), ['x-a', '1', 'X-A', '2', 'X-A', '3']);
  });

  test('set takes the place of the first line and drops the others', () => {
    const fields = ['A', '1', 'x-b', 'old', 'C', '3', 'X-B', 'older'];
    assert.deepEqual(run({ set: [['X-B', ['new', 'er']]] }, fields), ['A', '1', 'X-B', 'new,er', 'C', '3']);
    assert.deepEqual(run({ set: [['X-New', ['v']]] }, ['A', '1']), ['A', '1', 'X-New', 'v']);
  });

  test('cookies that are set stay one line each', () => {
    const fields = ['Set-Cookie', 'old=1', 'X', 'y'];
    const expected = ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X', 'y'];
    assert.deepEqual(run({ set: [['Set-Cookie', ['a=1', 'b=2']]] }, fields, 'response'), expected);
  });

  test('delete takes whole names and wildcards, in any case', () => {
    const fields = ['X-A', '1', 'x-ab', '2', 'Y-AB', '3', 'Z', '4'];
    assert.deepEqual(run({ delete: ['x-a'] }, fields), ['x-ab', '2', 'Y-AB', '3', 'Z', '4']);
    assert.deepEqual(run({ delete: ['X-*'] }, fields), ['Y-AB', '3', 'Z', '4']);
    assert.deepEqual(run({ delete: ['*-ab'] }, fields), ['X-A', '1', 'Z', '4']);
    assert.deepEqual(run({ delete: ['*-a*'] }, fields), ['Z', '4']);
  });

  test('deleting everything comes first, deleting by name last', () => {
    const plan: Partial<HeaderOpsPlan> = { add: [['X-A', ['1']]], set: [['X-B', ['2']]], delete: ['*', 'X-B'] };
    assert.deepEqual(run(plan, ['Old', '0', ...HOST]), [...HOST, 'X-A', '1']);
  });

  test('lines no operation names keep order, spelling, repetition and bytes', () => {
    const fields = ['sEt-CoOkIe', 'a=\u00e9', 'VARY', 'x', 'Set-Cookie', 'b', 'X-Empty', ''];
    assert.deepEqual(run({ set: [['X', ['1']]] }, fields, 'response'), [...fields, 'X', '1']);
  });

  test('text of the configuration goes out as UTF-8', () => {
    assert.deepEqual(run({ set: [['X', ['é']]] }, []), ['X', '\u00c3\u00a9']);
  });
});

describe('Host of a request', () => {
  test('is set and replaced like any field, and added means set', () => {
    assert.deepEqual(run({ set: [['host', ['b.test']]] }, HOST), ['host', 'b.test']);
    assert.deepEqual(run({ add: [['Host', ['b.test']]] }, HOST), ['Host', 'b.test']);
    const replace: HeaderOpsPlan['replace'] = [['Host', [{ search: 'example', searchRegexp: '', replace: 'x' }]]];
    assert.deepEqual(run({ replace }, HOST), ['Host', 'x.com']);
  });

  test('no wildcard deletes it, and naming it for deletion is an error', () => {
    assert.deepEqual(run({ delete: ['*', 'ho*', '*st', '*os*'] }, [...HOST, 'X', '1']), HOST);
    assert.throws(() => run({ delete: ['host'] }, HOST), ConfigError);
  });
});

describe('fields that frame the message', () => {
  test('are out of reach of every operation, and named for a warning', () => {
    const framing = ['Content-Length', '5', 'Connection', 'close', 'Transfer-Encoding', 'chunked'];
    const plan: Partial<HeaderOpsPlan> = {
      add: [['Transfer-Encoding', ['gzip']]],
      set: [
        ['Content-Length', ['9']],
        ['connection', ['Upgrade']],
      ],
      delete: ['*', 'Content-*', 'Upgrade'],
      replace: [['*', [{ search: '', searchRegexp: '.', replace: 'x' }]]],
    };
    assert.deepEqual(run(plan, framing, 'response'), framing);
    assert.deepEqual(ignoredFields(headerOps(plan)), ['Transfer-Encoding', 'Content-Length', 'connection', 'Upgrade']);
  });
});

describe('replace', () => {
  function replaced(value: string, searchRegexp: string, replace: string, facts: RequestFacts = {}): string {
    const plan: Partial<HeaderOpsPlan> = { replace: [['X', [{ search: '', searchRegexp, replace }]]] };
    return run(plan, ['x', value], 'response', facts)[1]!;
  }

  test('a plain search is a substring, everywhere', () => {
    const plan: Partial<HeaderOpsPlan> = { replace: [['X', [{ search: 'a.', searchRegexp: '', replace: '$1' }]]] };
    assert.deepEqual(run(plan, ['X', 'a.b a.c ab', 'Y', 'a.']), ['X', '$1b $1c ab', 'Y', 'a.']);
  });

  test('groups are expanded by number and name', () => {
    assert.equal(
      replaced('http://a.test/x', '^http://([^/]+)(?P<rest>.*)$', 'https://$1:8443${rest}'),
      'https://a.test:8443/x',
    );
    assert.equal(replaced('ab', '(a)(b)', '${2}${1}$3$nobody$$1'), 'ba$1');
    assert.equal(replaced('ab', '(a)', '$1x'), 'b');
  });

  test('a value from the request is never read for groups', () => {
    const facts = { fields: ['V', '$1{http.request.host}'] };
    assert.equal(replaced('abc', '(b)', '[{http.request.header.V}]', facts), 'a[$1{http.request.host}]c');
  });

  test('a line break from the request cannot get in', () => {
    assert.equal(replaced('abc', 'b', '{http.request.uri.query.q}', { target: '/?q=%0d%0aX:1' }), 'a%0D%0AX:1c');
  });

  test('an empty match counts between characters, not behind a match', () => {
    assert.equal(replaced('baac', 'a*', 'x'), 'xbxcx');
  });

  test('UTF-8 is searched as text and other bytes survive', () => {
    assert.equal(replaced('\u00c3\u00a9-\u00c3\u00a9', '^.', 'e'), 'e-\u00c3\u00a9');
    assert.equal(replaced('\u00e9-x', 'x', 'y'), '\u00e9-y');
  });

  test('a star means every field', () => {
    const plan: Partial<HeaderOpsPlan> = { replace: [['*', [{ search: '1', searchRegexp: '', replace: '2' }]]] };
    assert.deepEqual(run(plan, ['A', '1', 'B', '11'], 'response'), ['A', '2', 'B', '22']);
  });

  test('an expression RE2 does not know is an error at load', () => {
    assert.throws(
      () => replaced('', '(?=x)', ''),
      (error) => error instanceof ConfigError && /\(\?=x\)/.test(error.message),
    );
  });
});

test('names that are no field names are an error at load', () => {
  for (const name of ['', 'X A', 'X:', '{http.request.host}', 'é']) {
    assert.throws(() => compileHeaderOps(headerOps({ set: [[name, ['1']]] }), 'request', NO_FACTS), ConfigError);
  }
});
