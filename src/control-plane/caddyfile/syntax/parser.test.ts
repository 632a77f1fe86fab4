import assert from 'node:assert/strict';
import test from 'node:test';
import { ConfigError } from '../../../shared/config-error.ts';
import { type Document, parseDocument } from './parser.ts';
import type { Statement } from './statement.ts';

const warnings: never[] = [];

function parse(text: string, files: Readonly<Record<string, string>> = {}, told: string[] = warnings): Document {
  return parseDocument(text, {
    filename: 'Caddyfile',
    env: { HOST: 'a.test b.test', EMPTY: '' },
    warn: (token, directive, message) => told.push(`${directive} ${token.file}:${token.line} ${message}`),
    files: {
      readFile: (name) => {
        const found = files[name];
        if (found === undefined) throw new Error(`no file ${name}`);
        return found;
      },
      glob: (pattern) => {
        const [head = '', tail = ''] = pattern.split('*');
        return Object.keys(files).filter((name) => name.startsWith(head) && name.endsWith(tail));
      },
    },
  });
}

function show(statements: readonly Statement[]): string {
  return statements
    .map(({ name, args, block }) => {
      const line = [name, ...args].map((token) => token.text).join(' ');
      return block === null ? line : `${line} { ${show(block)} }`;
    })
    .join('; ');
}

function body(document: Document): string {
  return document.sites
    .map(({ keys, body: lines }) => `${keys.map((key) => key.text).join('+')}: ${show(lines)}`)
    .join(' | ');
}

test('global options, sites with several addresses and nested blocks are told apart', () => {
  const document = parse('{\n debug\n}\na.test, b.test c.test {\n x 1 {\n  y\n }\n}\nd.test {\n}\n');
  assert.equal(show(document.globals), 'debug');
  assert.equal(body(document), 'a.test+b.test+c.test: x 1 { y } | d.test: ');
});

test('a comma at the end of a line continues the addresses on the next', () => {
  assert.equal(body(parse('a.test,\nb.test {\n x\n}')), 'a.test+b.test: x');
});

test('a single site needs no braces', () => {
  assert.equal(body(parse('a.test\n\nx 1\ny {\n z\n}')), 'a.test: x 1; y { z }');
});

test('empty blocks may be written on one line', () => {
  assert.equal(body(parse('a.test { }\nb.test {}\n')), 'a.test:  | b.test: ');
});

test('variables of the environment are put in before the text is cut into words', () => {
  assert.equal(
    body(parse('{$HOST} {\n x {$NONE:fallback} {$EMPTY:unused}y {$NONE}z\n}')),
    'a.test+b.test: x fallback y z',
  );
});

test('a variable that is unset and has no default is a warning, once, and not in comments', () => {
  const told: string[] = [];
  parse(
    '# {$OLD}\na {\n x {$EMPTY} {$UNSET:} {$NONE} # {$LATER}\n y {$NONE}\n import b\n}',
    { b: 'z\nz {$ALSO}' },
    told,
  );
  assert.deepEqual(told, [
    '{$NONE} Caddyfile:3 the environment has no NONE: set it, or write {$NONE:<default>}',
    '{$ALSO} b:2 the environment has no ALSO: set it, or write {$ALSO:<default>}',
  ]);
});

test('a snippet takes arguments one by one, in ranges and inside words', () => {
  const snippet = '(s) {\n x {args[0]} {args[1:]} [{args[2]}]\n all {args[:]}\n}\n';
  assert.equal(body(parse(`${snippet}a {\n import s 1 2 3\n}`)), 'a: x 1 2 3 [3]; all 1 2 3');
});

test('a snippet takes a block and named parts of it', () => {
  const snippet = '(s) {\n x {\n  {block}\n }\n y {\n  {blocks.one}\n }\n}\n';
  assert.equal(body(parse(`${snippet}a {\n import s {\n  one {\n   p\n  }\n }\n}`)), 'a: x { one { p } }; y { p }');
});

test('a block that was not given leaves nothing behind', () => {
  assert.equal(body(parse('(s) {\n x {\n  {block}\n }\n}\na {\n import s\n}')), 'a: x {  }');
});

test('snippets import other snippets and hand on what they were given', () => {
  const text =
    '(in) {\n y {args[0]}\n {block}\n}\n(out) {\n import in {args[0]}2 {\n  {block}\n }\n}\na {\n import out 1 {\n  z\n }\n}';
  assert.equal(body(parse(text)), 'a: y 12; z');
});

test('an imported file may hold sites and snippets, and its paths are relative to it', () => {
  const files = {
    'conf/sites.conf': 'import more/x.conf\nb.test {\n import s 2\n}\n',
    'conf/more/x.conf': '(s) {\n x {args[0]}\n}\n',
  };
  assert.equal(body(parse('import conf/sites.conf\na.test {\n import s 1\n}', files)), 'b.test: x 2 | a.test: x 1');
});

test('arguments of an import do not reach into the snippets that its file defines', () => {
  const files = { 's.conf': '(s) {\n x {args[0]} {\n  {block}\n }\n}\n' };
  assert.equal(body(parse('import s.conf outer\na {\n import s inner {\n  y\n }\n}', files)), 'a: x inner { y }');
});

test('a glob imports every file that fits, and warns when none does', () => {
  const told: string[] = [];
  const files = { 'sites/a.conf': 'a {\n}', 'sites/b.conf': 'b {\n}' };
  assert.equal(body(parse('import sites/*.conf\nimport none/*.conf\n', files, told)), 'a:  | b: ');
  assert.deepEqual(told, ['import Caddyfile:2 no files match the import pattern none/*.conf']);
});

test('an argument that was not given is told and left as written', () => {
  const told: string[] = [];
  assert.equal(body(parse('(s) {\n x {args[1]}\n}\na {\n import s 0\n}', {}, told)), 'a: x {args[1]}');
  assert.deepEqual(told, ['import Caddyfile:2 {args[1]} has no argument: the import gives 1']);
});

for (const [what, text, message] of [
  ['a closing brace too many', 'a {\n}\n}', "unexpected '}' because no matching opening brace, at Caddyfile:3"],
  ['a block that stays open', 'a {\n x {\n }\n', "the block of 'a' is never closed: '}' is missing, at Caddyfile:1"],
  ['a word behind a closing brace', 'a {\n} b', "unexpected 'b' after '}' on same line, at Caddyfile:2"],
  [
    'a word behind an opening brace',
    'a {\n x { y\n }\n}',
    "unexpected next token after '{' on same line, at Caddyfile:2",
  ],
  [
    'a brace without space',
    'a{\n}',
    "site addresses cannot end with a curly brace: 'a{' - put a space between the token and the brace, at Caddyfile:1",
  ],
  [
    'a comma inside an address',
    'a,b {\n}',
    "site addresses cannot contain a comma ',': 'a,b' - put a space after the comma to separate site addresses, at Caddyfile:1",
  ],
  [
    'a comma before the brace',
    'a, {\n}',
    "site addresses cannot end with a comma: 'a,' - remove the comma before '{', at Caddyfile:1",
  ],
  [
    'global options after a site',
    'a {\n}\n{\n}',
    'server block without any key is global configuration, and if used, it must be first, at Caddyfile:3',
  ],
  [
    'global options twice',
    '{\n}\n{\n}',
    'anonymous blocks are not supported: global options are written once, at Caddyfile:3',
  ],
  [
    'a matcher outside a site',
    '@m path /x\n',
    'request matchers may not be defined globally, they must be in a site block; found @m, at Caddyfile:1',
  ],
  ['a snippet defined twice', '(s) {\n}\n(s) {\n}', 'redeclaration of previously declared snippet s, at Caddyfile:3'],
  ['an import without a name', 'a {\n import\n}', 'import requires a non-empty filepath, at Caddyfile:2'],
  [
    'two wildcards',
    'import */*.conf',
    'glob pattern may only contain one wildcard (*), but has others: */*.conf, at Caddyfile:1',
  ],
  [
    'a snippet that imports itself',
    '(s) {\n import s\n}\nimport s',
    "a cycle of imports exists between Caddyfile:s and Caddyfile:s, at Caddyfile:2 import chain ['Caddyfile:4 (import s)']",
  ],
] as const) {
  test(`${what} is told with file and line`, () => {
    assert.throws(
      () => parse(text),
      (error) => {
        assert.ok(error instanceof ConfigError);
        assert.equal(error.message, message);
        assert.equal(error.position?.file, 'Caddyfile');
        return true;
      },
    );
  });
}

test('a file that is not there is told with the line of its import', () => {
  assert.throws(() => parse('a {\n import x.conf\n}'), /file to import not found: x\.conf .*, at Caddyfile:2$/);
});

test('a fault in an imported file names that file', () => {
  assert.throws(() => parse('import x.conf', { 'x.conf': 'a {\n x "y\n}' }), /never closed, at x\.conf:2$/);
});

test('files that import each other are a cycle', () => {
  const files = { 'a.conf': 'import b.conf', 'b.conf': 'import a.conf' };
  assert.throws(
    () => parse('import a.conf', files),
    /a cycle of imports exists between b\.conf and a\.conf, at b\.conf:1/,
  );
});

test('blocks nested without end are refused, not overflowed', () => {
  assert.throws(() => parse('a {\n'.repeat(50_000)), /blocks are nested more than 100 deep, at Caddyfile:101/);
});

test('snippets that multiply each other are refused before they fill the memory', () => {
  const levels = Array.from(
    { length: 12 },
    (_unused, index) => `(s${index + 1}) {\n${`import s${index}\n`.repeat(10)}}\n`,
  );
  assert.throws(
    () => parse(`(s0) {\n x\n}\n${levels.join('')}a {\n import s12\n}`),
    /imports bring in more than 1000000 lines/,
  );
});
