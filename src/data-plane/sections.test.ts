import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemberRows, PoolSection } from '../shared/plan/types.ts';
import { StateTable } from '../shared/state-table/table.ts';
import { Sections } from './sections.ts';

const HASH = 'pool-of-four';
const NAMES = ['a', 'b', 'c', 'd'];

function sectionOf(names: readonly string[]): PoolSection {
  return {
    kind: 'pool',
    hash: HASH,
    policy: { policy: 'first' },
    members: names.map((name) => ({ upstream: name, identity: name })),
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
}

function rowsAt(position: number, port: number): MemberRows {
  return { member: position, endpoints: [{ slot: position, check: -1, host: '127.0.0.1', port }] };
}

/** The first two members went ahead. */
function begun(): Sections {
  const table = new StateTable();
  table.grow('member', 0, 3);
  table.grow('slot', 0, 3);
  table.grow('pool', 0, 0);
  const sections = new Sections(table);
  sections.addMembers(HASH, sectionOf(NAMES.slice(0, 1)).members, [rowsAt(0, 8000)]);
  sections.addMembers(HASH, sectionOf(NAMES.slice(1, 2)).members, [rowsAt(1, 8001)]);
  return sections;
}

function finish(sections: Sections): void {
  sections.add(sectionOf(NAMES.slice(2)), { pool: 0, members: [rowsAt(2, 8002), rowsAt(3, 8003)] });
}

test('members that came ahead stand before those of the section', () => {
  const sections = begun();
  finish(sections);
  const pool = sections.pool(HASH);
  assert.deepEqual(
    NAMES.map((_, at) => [pool.upstream(at), pool.endpoint(at, 0).port]),
    [
      ['a', 8000],
      ['b', 8001],
      ['c', 8002],
      ['d', 8003],
    ],
  );
  assert.equal(pool.size, 4);
});

test('a member that moves before its section is complete is at its new address', () => {
  const sections = begun();
  sections.updateEndpoints(HASH, 1, rowsAt(1, 9001));
  finish(sections);
  assert.equal(sections.pool(HASH).endpoint(1, 0).port, 9001);
});

test('what came ahead of a section that never came is dropped with the plan', () => {
  const sections = begun();
  sections.retain([]);
  finish(sections);
  assert.equal(sections.pool(HASH).size, 2);
});
