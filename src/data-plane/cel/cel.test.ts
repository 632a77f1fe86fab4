import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { requestOf, type RequestFacts } from '../../../test/support/route-fixtures.ts';
import { ConfigError } from '../../shared/config-error.ts';
import type { RequestView } from '../route/request-view.ts';
import { compileCel, type Constant } from './compile.ts';
import type { Value } from './value.ts';

const VALUES: Readonly<Record<string, Value>> = {
  status: { type: 'integer', read: (request) => Number(request.proxyValue('status') ?? Number.NaN) },
  flag: { type: 'flag', read: (request) => request.proxyValue('flag') === 'true' },
  method: { type: 'text', read: (request) => request.method, constant: null },
  path: { type: 'text', read: (request) => request.target, constant: null },
};

function compile(text: string, called: (readonly Constant[])[] = []): (request: RequestView) => boolean {
  return compileCel(text, {
    placeholder(name) {
      const value = VALUES[name];
      if (value === undefined) throw new ConfigError(`there is no placeholder {${name}}`);
      return value;
    },
    call(name, args) {
      if (name !== 'path') return null;
      called.push(args);
      return (request) => args.includes(request.target);
    },
  });
}

function holds(text: string, facts: RequestFacts = {}): boolean {
  return compile(text)(requestOf(facts));
}

const status = (code: string): RequestFacts => ({ proxyValues: { status: code } });

describe('operators', () => {
  const cases: readonly (readonly [text: string, expected: boolean, facts?: RequestFacts])[] = [
    ['true', true],
    ['!true', false],
    ['!!true', true],
    ['true && false || true', true],
    ['false || true && false', false],
    ['!(true && false)', true],
    ['1 < 2 && -1 < 0 && 0x10 == 16', true],
    ['1 == 1 && 1 != 2 && 2 >= 2 && 2 <= 2', true],
    ['"a" < "b" && "b" > \'a\' && "é" > "z"', true],
    ['{status} in [502, 503]', true, status('503')],
    ['{status} in [502, 503]', false, status('200')],
    ['{status} >= 500 && {status} <= 599', true, status('500')],
    ['{status} == 200', false],
    ['{status} != 200', true],
    ['{status} < 200 || {status} >= 200', false],
    ['{flag}', true, { proxyValues: { flag: 'true' } }],
    ['{flag} == false', true],
    ['{method} == "GET"', true],
    ['{method} in [\'POST\', "GET",]', true],
    ['"GET" in [{method}]', true],
    ['{method} in []', false],
    ['{method} == `GET` // and a comment', true],
    ['path("/a", "/b")', true, { target: '/b' }],
    ['!path("/a")', true, { target: '/b' }],
  ];
  for (const [text, expected, facts] of cases) {
    test(`${text} is ${expected}${facts === undefined ? '' : ` for ${JSON.stringify(facts)}`}`, () => {
      assert.equal(holds(text, facts), expected);
    });
  }
});

describe('functions of texts', () => {
  const cases: readonly (readonly [text: string, expected: boolean])[] = [
    ['{path}.startsWith("/café")', true],
    ['{path}.endsWith("s")', true],
    ['{path}.contains("fé/")', true],
    ['{path}.matches("^/c.f./\\\\d+$")', false],
    ["{path}.matches(r'^/c.f./\\w+s$')", true],
    ["matches({path}, 'milk')", true],
    ['size({path}) == 11', true],
    ['{path}.size() > 100', false],
    ['{method}.lowerAscii() == "get"', true],
    ['{method}.lowerAscii().upperAscii() == {method}', true],
  ];
  for (const [text, expected] of cases) {
    test(`${text} is ${expected}`, () => {
      assert.equal(holds(text, { target: Buffer.from('/café/milks').toString('latin1') }), expected);
    });
  }
});

test('escapes in texts are those of CEL', () => {
  const text = String.raw`"\"\\\x41\u0041\U00000041\101\n" == '"\\AAAA' + ''`;
  assert.throws(() => compile(text), /arithmetic/);
  assert.equal(holds(String.raw`"\"\\\x41\u0041\U00000041\101\n" == '"\\AAAA\n'`), true);
});

test('a matcher gets its arguments as they are written, lists and maps too', () => {
  const called: (readonly Constant[])[] = [];
  compile(`path('/a', ["b", 'c'], {'X': ['y'], "z": '{{env}}'})`, called);
  assert.deepEqual(called, [['/a', ['b', 'c'], { X: ['y'], z: '{{env}}' }]]);
});

describe('faults name the character', () => {
  const cases: readonly (readonly [text: string, message: RegExp])[] = [
    ['', /something is missing, at its end$/],
    ['{method} ==', /something is missing, at its end$/],
    ['{method} == 5', /a text never equals an integer: .*, at character 10, before == 5$/],
    ['{status} == "404"', /an integer never equals a text/],
    ['{status} in [404, "410"]', /an integer never equals a text/],
    ['{status} in 404', /in needs a list/],
    ['true < false', /does not order flags/],
    ['{method}', /a condition \(true or false\) should stand here, found a text/],
    ['5 && true', /found an integer, at character 1/],
    ['nobody("x")', /there is no function nobody\(\)/],
    ['{method}.nobody("x")', /there is no function nobody\(\) of a text/],
    ['{method}.startsWith()', /takes 1 argument/],
    ['{method}.matches({path})', /must be written out/],
    ['{method}.matches("(")', /no valid RE2 regular expression/],
    ['path({method})', /written out/],
    ['{unknown} == ""', /there is no placeholder \{unknown\}/],
    ['1 + 1 == 2', /arithmetic is not supported, at character 3/],
    ['1 - 1 == 0', /arithmetic is not supported, at character 3/],
    ['1.5 < 2', /only whole numbers/],
    ['99999999999999999999 > 1', /too large/],
    ['null == ""', /null is not supported/],
    ['word', /unknown word 'word'/],
    ['"open', /no closing "/],
    [String.raw`"\q" == ""`, /unknown escape/],
    ['(true', /'\)' is missing, at its end/],
    ['true)', /the expression should end, at character 5/],
    ['true true', /should end/],
    ['{} == {}', /a map can only be an argument/],
    [`${'('.repeat(40)}true${')'.repeat(40)}`, /nests deeper than 32/],
    [`true ${'|| true '.repeat(3000)}`, /longer than 16384/],
    ['true # false', /unexpected '#'/],
  ];
  for (const [text, message] of cases) {
    test(text.slice(0, 60) || 'nothing', () => {
      assert.throws(
        () => compile(text),
        (error: Error) => error instanceof ConfigError && message.test(error.message),
        text,
      );
    });
  }
});

test('many alternatives on one level are no depth', () => {
  assert.equal(holds(`false${' || false'.repeat(1500)} || true`), true);
});

test('whatever is written either compiles or is a ConfigError', () => {
  const piece = fc.constantFrom(
    ...['{status}', '{method}', '==', '<', 'in', '&&', '||', '!', '(', ')', '[', ']', '{', '}', ',', ':', '.', '-'],
    ...['"a"', "'", '`b`', '5', 'true', 'path', 'size', 'matches', '\\', 'é', ' '],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      try {
        assert.equal(typeof compile(pieces.join(''))(requestOf()), 'boolean');
      } catch (error) {
        assert.ok(error instanceof ConfigError, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

/** A tree of conditions, as text and as the value it must have. */
const condition = fc.letrec<{ readonly tree: { readonly text: string; readonly value: boolean } }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.boolean().map((value) => ({ text: String(value), value })),
    fc.tuple(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 })).map(([a, b]) => ({
      text: `${a} <= ${b}`,
      value: a <= b,
    })),
    tie('tree').map(({ text, value }) => ({ text: `!(${text})`, value: !value })),
    fc
      .tuple(tie('tree'), tie('tree'))
      .map(([a, b]) => ({ text: `(${a.text} && ${b.text})`, value: a.value && b.value })),
    fc
      .tuple(tie('tree'), tie('tree'))
      .map(([a, b]) => ({ text: `(${a.text} || ${b.text})`, value: a.value || b.value })),
  ),
}));

test('a condition has the value its parts give it', () => {
  fc.assert(fc.property(condition.tree, ({ text, value }) => assert.equal(holds(text), value)));
});
