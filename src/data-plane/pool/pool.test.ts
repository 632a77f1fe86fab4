import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemberRows, PoolRows, PoolSection } from '../../shared/plan/types.ts';
import { MEMBER_DOWN, MEMBER_ELIGIBLE, MEMBER_STATE } from '../../shared/state-table/layout.ts';
import { StateTable } from '../../shared/state-table/table.ts';
import { Pool } from './pool.ts';

const SECTION: PoolSection = {
  kind: 'pool',
  hash: 'p',
  policy: { policy: 'first' },
  members: [],
  retry: { retries: null, tryDurationMs: null, tryIntervalMs: 250 },
  passive: null,
  queue: null,
  transport: {
    dialTimeoutMs: 3000,
    responseHeaderTimeoutMs: 0,
    keepAliveIdleMs: 120_000,
    maxIdlePerEndpoint: 32,
    maxResponseHeaderBytes: 65_536,
  },
};

function seat(row: number, port = 80): MemberRows {
  return { member: row, endpoints: [{ slot: row, check: -1, host: `10.0.0.${row}`, port }] };
}

function rowsOf(...rows: readonly number[]): PoolRows {
  const found = rows.map((row) => ({ upstream: `10.0.0.${row}:80`, identity: `10.0.0.${row}` }));
  return { pool: 0, members: rows.map((row) => seat(row)), found };
}

function start(...rows: readonly number[]) {
  const table = new StateTable();
  table.grow('member', 0, 9);
  table.grow('slot', 0, 9);
  table.grow('pool', 0, 0);
  for (let row = 0; row < 10; row += 1) table.members.store(row, MEMBER_STATE, MEMBER_ELIGIBLE);
  const known = rowsOf(...rows);
  return { table, pool: new Pool({ ...SECTION, members: known.found! }, known, table) };
}

test('a pool that is never recast is its own newest form', () => {
  const { pool } = start(1, 2);
  assert.equal(pool.current, pool);
});

test('new requests see the new members, running ones keep their positions', () => {
  const { pool } = start(1, 2);
  pool.recast(rowsOf(2, 3));
  const { current } = pool;
  assert.deepEqual([current.upstream(0), current.upstream(1)], ['10.0.0.2:80', '10.0.0.3:80']);
  assert.deepEqual([pool.upstream(0), pool.upstream(1)], ['10.0.0.1:80', '10.0.0.2:80']);
  assert.equal(current.endpoint(0, 0), pool.endpoint(1, 0));
});

test('a member that is gone is down for requests that still know it, even when its row has another owner', () => {
  const { pool, table } = start(1, 2);
  pool.recast(rowsOf(2));
  table.members.store(1, MEMBER_STATE, MEMBER_ELIGIBLE);
  assert.deepEqual([pool.state(0), pool.state(1)], [MEMBER_DOWN, MEMBER_ELIGIBLE]);
  assert.equal(pool.weight(0), 0);
  assert.equal(pool.load(0), 0);
  assert.equal(pool.nextEndpoint(0, 0), -1);
});

test('every older form hears of what happens to a member that stays, however many forms there were', () => {
  const { pool } = start(1, 2);
  pool.recast(rowsOf(2, 3));
  const second = pool.current;
  pool.recast({ ...rowsOf(3, 2), members: [seat(3), seat(2, 8080)] });
  assert.equal(pool.endpoint(1, 0).port, 8080);
  assert.equal(second.endpoint(0, 0).port, 8080);
  pool.recast(rowsOf(3));
  assert.equal(pool.nextEndpoint(1, 0), -1);
  assert.equal(second.nextEndpoint(0, 0), -1);
  assert.equal(second.nextEndpoint(1, 0), 0);
});

test('a pool may become empty and fill again', () => {
  const { pool } = start(1);
  pool.recast(rowsOf());
  assert.equal(pool.current.size, 0);
  pool.recast(rowsOf(4));
  assert.equal(pool.current.upstream(0), '10.0.0.4:80');
});
