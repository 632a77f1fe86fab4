import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Head } from '../http1/head.ts';
import { compileClientIpHeaders } from './header.ts';

function headOf(fields: readonly (readonly [name: string, value: string])[]): Head {
  const head = new Head();
  for (const [name, value] of fields) {
    const start = head.text.length;
    head.text += `${name}: ${value}\r\n`;
    const valueStart = start + name.length + 2;
    head.offsets.push(start, start + name.length, valueStart, valueStart + value.length);
    head.count += 1;
  }
  return head;
}

describe('compileClientIpHeaders', () => {
  const listOf = compileClientIpHeaders(['CF-Connecting-IP', 'X-Forwarded-For']);

  test('joins all lines of a header in order', () => {
    const head = headOf([
      ['x-forwarded-for', '6.6.6.6'],
      ['Accept', '*/*'],
      ['X-Forwarded-For', '203.0.113.9, 10.0.0.7'],
    ]);
    assert.equal(listOf(head), '6.6.6.6, 203.0.113.9, 10.0.0.7');
  });

  test('takes the first configured header that is present, even an empty one', () => {
    const xff = ['X-Forwarded-For', '1.1.1.1'] as const;
    assert.equal(listOf(headOf([xff, ['cf-connecting-ip', '2.2.2.2']])), '2.2.2.2');
    assert.equal(listOf(headOf([xff, ['cf-connecting-ip', '']])), '');
  });

  test('gives nothing when none is present', () => {
    assert.equal(listOf(headOf([['Host', 'a']])), '');
  });
});
