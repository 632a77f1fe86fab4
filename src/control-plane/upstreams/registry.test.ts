import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { FACT_CONNECTIONS, FACT_IN_FLIGHT, FACT_REQUESTS } from '../../shared/state-table/layout.ts';
import { StateTable, type TableChunk } from '../../shared/state-table/table.ts';
import { Registry } from './registry.ts';

function start() {
  const clock = new FakeClock();
  const table = new StateTable();
  const chunks: TableChunk[] = [];
  const forgotten: string[] = [];
  const registry = new Registry({
    table,
    clock,
    onChunk: (chunk) => void chunks.push(chunk),
    onForget: (slot) => void forgotten.push(slot.address),
  });
  return { clock, table, chunks, forgotten, registry };
}

const named = (chunks: readonly TableChunk[]): string[] =>
  chunks.map(({ kind, lane, index }) => `${kind} ${lane} ${index}`);

test('a slot row exists in the base lane and in every lane that was added, before it is handed out', () => {
  const { table, chunks, registry } = start();
  assert.deepEqual(named(registry.addLane(1)), ['lane 0 0']);
  registry.slots.hold('10.0.0.1', 80);
  assert.deepEqual(named(chunks), ['slot 0 0', 'facts 0 0', 'facts 1 0']);
  assert.deepEqual(named(registry.addLane(2)), ['facts 2 0']);
  assert.deepEqual(named(registry.addLane(2)), []);
  table.facts(2).add(0, FACT_IN_FLIGHT, 1);
  assert.equal(table.sumFacts(0, FACT_IN_FLIGHT), 1);
});

test('chunks are added where 256 rows are full', () => {
  const { chunks, registry } = start();
  for (let host = 0; host < 257; host += 1) registry.slots.hold(`10.0.${host >> 8}.${host & 255}`, 80);
  assert.deepEqual(named(chunks), ['slot 0 0', 'facts 0 0', 'slot 0 1', 'facts 0 1']);
});

test('one address is one slot, and it is forgotten with its last user', () => {
  const { forgotten, registry } = start();
  const slot = registry.slots.hold('fd00::1', 80);
  assert.equal(registry.slots.hold('fd00::1', 80), slot);
  assert.equal(slot.address, '[fd00::1]:80');
  registry.slots.release(slot);
  assert.deepEqual(forgotten, []);
  registry.slots.release(slot);
  assert.deepEqual(forgotten, ['[fd00::1]:80']);
  assert.equal(registry.slots.find('[fd00::1]:80'), undefined);
});

test('a slot row is used again only when no worker counts in it, and starts from zero in all lanes', async () => {
  const { clock, table, registry } = start();
  registry.addLane(1);
  const old = registry.slots.hold('10.0.0.1', 80);
  table.facts(1).add(old.row, FACT_IN_FLIGHT, 1);
  table.facts(1).count(old.row, FACT_REQUESTS, 5);
  table.facts(0).count(old.row, FACT_REQUESTS, 7);
  registry.slots.release(old);
  await clock.advance(60_000);
  assert.notEqual(registry.slots.hold('10.0.0.2', 80).row, old.row);
  table.facts(1).add(old.row, FACT_IN_FLIGHT, -1);
  table.facts(1).add(old.row, FACT_CONNECTIONS, 1);
  await clock.advance(60_000);
  assert.notEqual(registry.slots.hold('10.0.0.3', 80).row, old.row);
  table.facts(1).add(old.row, FACT_CONNECTIONS, -1);
  await clock.advance(60_000);
  const next = registry.slots.hold('10.0.0.4', 80);
  assert.equal(next.row, old.row);
  assert.equal(table.sumFactTotals(next.row, FACT_REQUESTS), 0);
  assert.equal(registry.slots.at(next.row), next);
});

test('an address that comes back soon finds its counters', async () => {
  const { clock, table, registry } = start();
  const slot = registry.slots.hold('10.0.0.1', 80);
  table.facts(0).count(slot.row, FACT_REQUESTS, 7);
  registry.slots.release(slot);
  await clock.advance(5000);
  const again = registry.slots.hold('10.0.0.1', 80);
  assert.equal(again.row, slot.row);
  assert.equal(table.sumFactTotals(again.row, FACT_REQUESTS), 7);
  await clock.advance(60_000);
  assert.notEqual(registry.slots.hold('10.0.0.2', 80).row, slot.row);
});
