import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { adaptCase, goldenCases, type GoldenCase } from '../../../test/golden/golden.ts';
import { ConfigError } from '../../shared/config-error.ts';
import { formatCaddyfile } from './format.ts';

const format = (text: string): string => formatCaddyfile(text, 'Caddyfile');

test('indents with tabs, separates words by one space, and keeps at most one empty line', () => {
  const messy = '\n\n:80   {\n\n\n  respond   "a  b"   200\n\n\n\n  header {\nX 1\n}\n\n\n}\n\n\n';
  assert.equal(format(messy), ':80 {\n\trespond "a  b" 200\n\n\theader {\n\t\tX 1\n\t}\n}\n');
});

test('keeps comments where they are', () => {
  const text = '# top\n:80 { # why\n# inside\nrespond ok# no comment\nrespond "x"#comment   \n}\n';
  assert.equal(format(text), '# top\n:80 { # why\n\t# inside\n\trespond ok# no comment\n\trespond "x" #comment\n}\n');
});

test('puts an empty line between blocks at the top', () => {
  assert.equal(format('{\ndebug\n}\n# b\nb {\n}\nc {\n}\n'), '{\n\tdebug\n}\n\n# b\nb {\n}\n\nc {\n}\n');
});

test('leaves the inside of quotes and heredocs alone', () => {
  const text = ':80 {\nrespond `a\n   b` 200\nrespond <<END\n      x\n      END 404\n}\n';
  assert.equal(format(text), ':80 {\n\trespond `a\n   b` 200\n\trespond <<END\n      x\n      END 404\n}\n');
});

test('keeps joined lines joined', () => {
  assert.equal(
    format(':80 {\nreverse_proxy a \\\n b \\\n     c\n}\n'),
    ':80 {\n\treverse_proxy a \\\n\t\tb \\\n\t\tc\n}\n',
  );
  assert.equal(format('a \\\n\nb\n'), 'a\nb\n');
});

test('an empty file stays empty', () => {
  assert.equal(format(''), '');
  assert.equal(format(' \n\n'), '');
});

test('text that cannot be cut into words is refused with its line', () => {
  assert.throws(() => format(':80 {\nrespond "open\n}\n'), ConfigError);
});

test('formatting twice changes nothing more, whatever the text', () => {
  const piece = fc.constantFrom(
    ' ',
    '\t',
    '\n',
    '\r\n',
    '\\\n',
    '#c',
    '{',
    '}',
    '"q"',
    '`b\n`',
    'word',
    '\\',
    '<<E\n x\n E',
    '"',
    'é',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
      const text = pieces.join('');
      let once = '';
      try {
        once = format(text);
      } catch (error) {
        assert.ok(error instanceof ConfigError, String(error));
        return;
      }
      assert.equal(format(once), once);
    }),
    { numRuns: 2000 },
  );
});

const folders = [
  path.join(import.meta.dirname, '../../../test/golden/caddyfile'),
  process.env['HOLDFAST_ADAPT_CASES'] ?? '',
];
for (const folder of folders.filter((name) => name !== '')) {
  test(`every Caddyfile of ${path.basename(folder)} adapts to the same before and after`, () => {
    for (const golden of goldenCases(folder)) {
      const before = outcome(golden, folder);
      const formatted = formattedOf(golden);
      if (formatted !== null) assert.deepEqual(outcome({ ...golden, input: formatted }, folder), before, golden.name);
    }
  });
}

/** null = the text cannot be cut into words, and the adapter says so too. */
function formattedOf({ input }: GoldenCase): string | null {
  try {
    return format(input);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return null;
  }
}

/** The JSON, or the message without line numbers, which may move. */
function outcome(golden: GoldenCase, folder: string): unknown {
  try {
    return adaptCase(golden, folder).config;
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message.replaceAll(/\d+/g, '0');
  }
}
