import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { joinHostPort, parsePort, splitHostPort } from './address.ts';

describe('splitHostPort', () => {
  const cases: Readonly<Record<string, readonly [host: string, port: number | null] | null>> = {
    app: ['app', null],
    'app:3000': ['app', 3000],
    ':3000': ['', 3000],
    '10.0.0.1:80': ['10.0.0.1', 80],
    '[::1]:80': ['::1', 80],
    '[::1]': ['::1', null],
    '2001:db8::1:443': ['2001:db8::1:443', null],
    '[::1': null,
    '[::1]80': null,
    '[::1]:': null,
    'app:': null,
    'app:65536': null,
    'app:http': null,
    'app:-1': null,
  };
  for (const [text, expected] of Object.entries(cases)) {
    test(`${text} → ${JSON.stringify(expected)}`, () => {
      const parts = splitHostPort(text);
      assert.deepEqual(parts && [parts.host, parts.port], expected);
    });
  }
});

test('joinHostPort puts IPv6 in brackets and nothing else', () => {
  assert.equal(joinHostPort('::1', 80), '[::1]:80');
  assert.equal(joinHostPort('app', 80), 'app:80');
  assert.equal(joinHostPort('', 80), ':80');
});

test('parsePort takes plain digits from 0 to 65535', () => {
  assert.deepEqual(['0', '80', '65535', '00080'].map(parsePort), [0, 80, 65535, 80]);
  assert.deepEqual(['', '65536', '+80', '8 0', '1e3', '000080'].map(parsePort), [-1, -1, -1, -1, -1, -1]);
});
