import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAlternativeNames } from './alternative-names.ts';

test('names of all kinds are read in their order', () => {
  assert.deepEqual(
    parseAlternativeNames(
      'DNS:a.test, IP Address:10.0.0.1, IP Address:2001:DB8:0:0:0:0:0:1, email:me@a.test, URI:spiffe://a/b',
    ),
    [
      { kind: 'DNS', value: 'a.test' },
      { kind: 'IP Address', value: '10.0.0.1' },
      { kind: 'IP Address', value: '2001:DB8:0:0:0:0:0:1' },
      { kind: 'email', value: 'me@a.test' },
      { kind: 'URI', value: 'spiffe://a/b' },
    ],
  );
});

test('a name with a comma in it is one name, whatever stands behind the comma', () => {
  assert.deepEqual(parseAlternativeNames('DNS:"a.test, DNS:admin.test", DNS:b.test'), [
    { kind: 'DNS', value: 'a.test, DNS:admin.test' },
    { kind: 'DNS', value: 'b.test' },
  ]);
});

test('what is unreadable ends the list', () => {
  for (const text of [undefined, '', 'nonsense', 'DNS:"open']) assert.deepEqual(parseAlternativeNames(text), []);
  assert.deepEqual(parseAlternativeNames('DNS:a.test, DNS:"\\q", DNS:b.test'), [{ kind: 'DNS', value: 'a.test' }]);
});
