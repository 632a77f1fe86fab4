import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSpec } from '../../../test/support/upstreams-world.ts';
import {
  CHECK_REASON,
  CHECK_VERDICT,
  VERDICT_DOWN,
  VERDICT_INITIAL,
  VERDICT_UP,
} from '../../shared/state-table/layout.ts';
import { StateTable } from '../../shared/state-table/table.ts';
import { CheckRecord } from './check-record.ts';
import type { ProbeResult } from './probe.ts';
import { reasonCode } from './reasons.ts';

const PASS: ProbeResult = {
  outcome: 'pass',
  reason: '',
  detail: 'status 200',
  roundTripMs: 3,
  localAddress: '127.0.0.1:5',
  status: 200,
  body: '',
};
const FAIL: ProbeResult = { ...PASS, outcome: 'fail', reason: 'HTTP_CODE_NOT_MATCH', status: 503, body: 'gone' };

function start(): { table: StateTable; record: CheckRecord; words: () => number[] } {
  const table = new StateTable();
  table.grow('check', 0, 0);
  const state = { verdict: 'initial', passes: 0, fails: 0 } as const;
  const record = new CheckRecord(table.checks, 0, checkSpec({ http: { uri: '/healthz' }, intervalMs: 10_000 }), state);
  return { table, record, words: () => [CHECK_VERDICT, CHECK_REASON].map((word) => table.checks.load(0, word)) };
}

test('verdict and reason stand in the table, and the reason goes when the server is up', () => {
  const { record, words } = start();
  assert.deepEqual(words(), [VERDICT_INITIAL, 0]);
  assert.equal(record.take(FAIL, 1)!.to, 'down');
  assert.deepEqual(words(), [VERDICT_DOWN, reasonCode('HTTP_CODE_NOT_MATCH')]);
  assert.equal(record.take(FAIL, 2), null);
  assert.deepEqual(record.take(PASS, 3), { from: 'down', to: 'up', result: { at: 3, ...PASS } });
  assert.deepEqual(words(), [VERDICT_UP, 0]);
});

test('the last 32 results are kept, with the last failure and what to do about it', () => {
  const { record } = start();
  record.take(FAIL, 0);
  for (let at = 1; at <= 40; at += 1) record.take(PASS, at);
  const status = record.status();
  assert.equal(status.name, 'http GET /healthz every 10s');
  assert.deepEqual(
    status.results.map(({ at }) => at),
    Array.from({ length: 32 }, (_, at) => at + 9),
  );
  assert.equal(status.reason, 'HTTP_CODE_NOT_MATCH');
  assert.notEqual(status.remedy, '');
  assert.equal(status.consecutivePasses, 40);
  assert.equal(record.lastFailure!.body, 'gone');
});
