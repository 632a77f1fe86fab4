import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FACT_IN_FLIGHT,
  FACT_REQUESTS,
  LANE_CONNECTIONS,
  LANE_HANDED,
  SERVER_BYTES_IN,
} from '../../shared/state-table/layout.ts';
import { StateTable } from '../../shared/state-table/table.ts';
import { Lanes } from './lanes.ts';

function tableOf(lanes: number): StateTable {
  const table = new StateTable();
  table.grow('lane', 0, lanes);
  for (let lane = 0; lane <= lanes; lane += 1) {
    table.grow('facts', lane, 300);
    table.grow('server', lane, 0);
  }
  return table;
}

test('lanes start at 1, are never shared, and come back when they are released', () => {
  const lanes = new Lanes(tableOf(3));
  assert.deepEqual([lanes.take(), lanes.take(), lanes.take()], [1, 2, 3]);
  lanes.release(2);
  assert.equal(lanes.take(), 2);
});

test('a released lane keeps the sums of totals, and nothing of it stays in flight', () => {
  const table = tableOf(2);
  const lanes = new Lanes(table);
  const lane = lanes.take();
  table.facts(0).count(299, FACT_REQUESTS, 5);
  table.facts(lane).count(299, FACT_REQUESTS, 7);
  table.facts(lane).add(299, FACT_IN_FLIGHT, 3);
  table.facts(2).add(299, FACT_IN_FLIGHT, 1);
  table.servers(lane).count(0, SERVER_BYTES_IN, 11);
  table.lanes.add(lane, LANE_CONNECTIONS, 4);
  table.lanes.add(lane, LANE_HANDED, 9);
  lanes.release(lane);
  assert.equal(table.sumFactTotals(299, FACT_REQUESTS), 12);
  assert.equal(table.facts(lane).total(299, FACT_REQUESTS), 0);
  assert.equal(table.sumFacts(299, FACT_IN_FLIGHT), 1);
  assert.equal(table.servers(0).total(0, SERVER_BYTES_IN), 11);
  assert.equal(table.lanes.load(lane, LANE_CONNECTIONS), 0);
  assert.equal(table.lanes.load(lane, LANE_HANDED), 0);
});
