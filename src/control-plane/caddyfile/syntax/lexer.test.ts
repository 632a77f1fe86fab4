import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { ConfigError } from '../../../shared/config-error.ts';
import { lex } from './lexer.ts';

function textsOf(source: string): string[] {
  return lex(source, 'F').map((token) => token.text);
}

function linesOf(source: string): number[] {
  return lex(source, 'F').map((token) => token.line);
}

test('words are separated by spaces, tabs and newlines', () => {
  assert.deepEqual(textsOf('a b\tc\n  d'), ['a', 'b', 'c', 'd']);
});

test('the first word of each line is marked', () => {
  assert.deepEqual(
    lex('a b\n\nc d', 'F').map((token) => token.startsLine),
    [true, false, true, false],
  );
});

test('a leading byte order mark is no part of the first word', () => {
  assert.deepEqual(textsOf('\uFEFFexample.com'), ['example.com']);
});

test('CRLF ends a line like LF and leaves no CR behind', () => {
  assert.deepEqual(textsOf('a b\r\nc\r\n'), ['a', 'b', 'c']);
  assert.deepEqual(linesOf('a b\r\nc\r\n'), [1, 1, 2]);
});

test('a hash opens a comment only where a word could begin', () => {
  assert.deepEqual(textsOf('a#b # c d\ne #f'), ['a#b', 'e']);
});

test('a double-quoted word keeps spaces and newlines, and the next word counts its lines', () => {
  const tokens = lex('"a b\nc" d\ne', 'F');
  assert.deepEqual(
    tokens.map(({ text, line, startsLine }) => [text, line, startsLine]),
    [
      ['a b\nc', 1, true],
      ['d', 2, false],
      ['e', 3, true],
    ],
  );
});

test('in double quotes only the quote is escaped', () => {
  assert.deepEqual(textsOf('"say \\"hi\\"" "a\\nb" "c\\\\"'), ['say "hi"', 'a\\nb', 'c\\\\']);
});

test('backticks keep everything as it is', () => {
  assert.deepEqual(textsOf('`a "b" \\n`'), ['a "b" \\n']);
});

test('a closing quote ends the word, and an empty pair is a word', () => {
  assert.deepEqual(textsOf('"a"b ""'), ['a', 'b', '']);
});

test('a quoted brace is marked as quoted', () => {
  assert.deepEqual(
    lex('"{" {', 'F').map((token) => token.quote),
    ['"', ''],
  );
});

test('a backslash before the newline joins two lines', () => {
  const tokens = lex('a \\\n b\nc', 'F');
  assert.deepEqual(
    tokens.map(({ text, line, startsLine }) => [text, line, startsLine]),
    [
      ['a', 1, true],
      ['b', 2, false],
      ['c', 3, true],
    ],
  );
});

test('a quote that never closes is told with its line', () => {
  assert.throws(() => lex('a\nb "c\nd', 'F'), /the quote " opened here is never closed, at F:2$/);
  assert.throws(() => lex('a `c\nd', 'F'), /the quote ` opened here is never closed, at F:1$/);
});

test('a heredoc loses the padding of its last line, and the logical line goes on behind it', () => {
  const tokens = lex('respond <<END\n    a\n\n      b\n    END 200\nnext', 'F');
  assert.deepEqual(
    tokens.map(({ text, line, startsLine }) => [text, line, startsLine]),
    [
      ['respond', 1, true],
      ['a\n\n  b', 1, false],
      ['200', 5, false],
      ['next', 6, true],
    ],
  );
});

test('a heredoc drops CRs', () => {
  assert.deepEqual(textsOf('<<E\r\na\r\nb\r\nE\r\n'), ['a\nb']);
});

test('a heredoc that holds nothing is an empty word', () => {
  assert.deepEqual(textsOf('a <<E\nE b'), ['a', '', 'b']);
});

test('an escaped or spaced << is an ordinary word', () => {
  assert.deepEqual(textsOf('\\<<E << x'), ['<<E', '<<', 'x']);
});

for (const [source, message] of [
  [
    'a\nb <<\nx',
    'missing opening heredoc marker on line #2; must contain only alphanumeric characters, dashes and underscores; got empty string, at F:2',
  ],
  ['<<<E\nE', "too many '<' for heredoc on line #1; only use two, for example <<END, at F:1"],
  [
    '<<E!\nE!',
    "heredoc marker on line #1 must contain only alphanumeric characters, dashes and underscores; got 'E!', at F:1",
  ],
  ['\n<<E\nabc', 'incomplete heredoc <<E on line #2, expected ending marker E, at F:2'],
  [
    '<<E\n\ta\n  E',
    'mismatched leading whitespace in heredoc <<E on line #2 [\ta], expected whitespace [  ] to match the closing marker, at F:2',
  ],
] as const) {
  test(`the broken heredoc ${JSON.stringify(source)} is told with its line`, () => {
    assert.throws(() => lex(source, 'F'), { message });
  });
}

test('any text gives words in the order of their lines, or a ConfigError', () => {
  const letters = fc.constantFrom('a', ' ', '\n', '\r', '"', '`', '\\', '#', '<', '{', '}', 'END', '\u00A0', 'é');
  const source = fc.array(letters, { maxLength: 60 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(source, (text) => {
      try {
        const lines = linesOf(text);
        assert.deepEqual(
          lines,
          lines.toSorted((a, b) => a - b),
        );
      } catch (error) {
        assert.ok(error instanceof ConfigError);
        assert.equal(error.position?.file, 'F');
      }
    }),
    { numRuns: 500 },
  );
});
