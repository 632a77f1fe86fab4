import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { MEMBER_DOWN, MEMBER_ELIGIBLE, MEMBER_WAIT } from '../../shared/state-table/layout.ts';
import { fmix32 } from './hash.ts';
import { MaglevTable } from './maglev.ts';
import { fillMaglevSlots, MAGLEV_SLOTS, type MaglevSlots } from './maglev-slots.ts';
import { makePool, makeRequest, type TestPool } from './policy.contract.ts';

/** Each run makes tables of 65,537 places. */
const RUNS = { numRuns: 15 };

function texts(size: number): string[] {
  return Array.from({ length: size }, (_, position) => `db-${position}.example.com:5432`);
}

function tableOf(identities: readonly string[], values: readonly number[]): MaglevSlots {
  const table = fillMaglevSlots(identities, { values, max: Math.max(0, ...values) });
  assert.ok(table !== null);
  return table;
}

function evenTable(identities: readonly string[]): MaglevSlots {
  return tableOf(
    identities,
    identities.map(() => 1),
  );
}

function ownersOf(table: MaglevSlots, identities: readonly string[]): string[] {
  return Array.from(table, (position) => identities[position]!);
}

/** Share of places that have another owner. */
function changed(before: readonly string[], after: readonly string[]): number {
  return before.filter((owner, slot) => owner !== after[slot]).length / MAGLEV_SLOTS;
}

function pool(size: number): TestPool {
  const identities = texts(size);
  // The same object until a weight changes, as a worker's pool has it.
  let known = { values: [] as number[], max: 0 };
  return Object.assign(makePool(size), {
    identity: (position: number) => identities[position]!,
    weightTable(this: TestPool) {
      const isSame = this.weights.every((weight, at) => weight === known.values[at]) && known.values.length > 0;
      if (!isSame) known = { values: [...this.weights], max: Math.max(...this.weights) };
      return known;
    },
  });
}

describe('a Maglev table', () => {
  test('gives everybody the share of its weight, within 2 %', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 40 }), (weights) => {
        const table = tableOf(texts(weights.length), weights);
        const counts = weights.map(() => 0);
        for (const position of table) counts[position]! += 1;
        const sum = weights.reduce((total, weight) => total + weight, 0);
        weights.forEach((weight, position) => {
          const expected = (MAGLEV_SLOTS * weight) / sum;
          assert.ok(Math.abs(counts[position]! - expected) <= 0.02 * expected, `${counts[position]} for ${expected}`);
        });
      }),
      RUNS,
    );
  });

  test('is the same whatever the order in which a node lists the members', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(texts(12), { minLength: 2 }), (listed) => {
        const weightOf = (text: string): number => 1 + (text.charCodeAt(3) % 3);
        const sorted = listed.toSorted();
        assert.deepEqual(
          ownersOf(tableOf(listed, listed.map(weightOf)), listed),
          ownersOf(tableOf(sorted, sorted.map(weightOf)), sorted),
        );
      }),
      RUNS,
    );
  });

  test('moves little more than its own share when a member is taken away, or added', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 30 }), fc.nat(), (size, which) => {
        const all = texts(size);
        const fewer = all.toSpliced(which % size, 1);
        const moved = changed(ownersOf(evenTable(all), all), ownersOf(evenTable(fewer), fewer));
        assert.ok(moved >= 0.98 / size && moved <= 1 / size + 0.05, `${moved} of the places of ${size}`);
      }),
      RUNS,
    );
  });

  test('has no place for weight 0, at least one for every other, and is none without any weight', () => {
    const table = tableOf(texts(3), [1, 0, 60_000_000]);
    assert.deepEqual(new Set(table), new Set([0, 2]));
    assert.equal(table.filter((position) => position === 0).length, 1);
    assert.equal(fillMaglevSlots(texts(2), { values: [0, 0], max: 0 }), null);
    assert.equal(fillMaglevSlots([], { values: [], max: 0 }), null);
  });

  test('is filled even with more members than it has places', () => {
    assert.ok(evenTable(texts(MAGLEV_SLOTS + 10)).every((position) => position < MAGLEV_SLOTS + 10));
  });

  test('stays what it is: nodes of different versions must agree', () => {
    const table = evenTable(texts(5));
    let sum = 0;
    for (const position of table) sum = fmix32(sum ^ position);
    assert.equal(sum, 3328363334);
    assert.deepEqual([...table.subarray(0, 12)], [1, 1, 2, 3, 2, 1, 3, 4, 3, 1, 0, 0]);
  });
});

describe('picking by a Maglev table', () => {
  const keys = Array.from({ length: 3000 }, (_, key) => fmix32(key + 1));

  test('moves only the keys of members that go, wherever else members are away, and they come home', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(7), { minLength: 1, maxLength: 7 }), (gone) => {
        const members = pool(8);
        const table = new MaglevTable(texts(8));
        const pick = (key: number): number => table.pick(members, makeRequest(), key);
        const homes = keys.map(pick);
        for (const position of gone) {
          const before = keys.map(pick);
          members.states[position] = MEMBER_DOWN;
          keys.forEach((key, at) => {
            if (before[at] === position) assert.notEqual(pick(key), position);
            else assert.equal(pick(key), before[at]);
          });
        }
        for (const position of gone) members.states[position] = MEMBER_ELIGIBLE;
        assert.deepEqual(keys.map(pick), homes);
      }),
      RUNS,
    );
  });

  test('spreads the keys of a lost member over all others', () => {
    const members = pool(5);
    const table = new MaglevTable(texts(5));
    const lost = keys.filter((key) => table.pick(members, makeRequest(), key) === 2);
    members.states[2] = MEMBER_DOWN;
    const counts = [0, 0, 0, 0, 0];
    for (const key of lost) counts[table.pick(members, makeRequest(), key)]! += 1;
    for (const position of [0, 1, 3, 4]) assert.ok(counts[position]! > lost.length / 8, counts.join());
  });

  test('waits for its own member where that has a queue, and finds the last one that is left', () => {
    const members = pool(40);
    const table = new MaglevTable(texts(40));
    const home = table.home(members, keys[0]!);
    members.states[home] = MEMBER_WAIT;
    assert.equal(table.pick(members, makeRequest(), keys[0]!), home);
    members.states.fill(MEMBER_DOWN);
    members.states[33] = MEMBER_ELIGIBLE;
    for (const key of keys) assert.equal(table.pick(members, makeRequest(), key), 33);
    members.states[33] = MEMBER_DOWN;
    assert.equal(table.pick(members, makeRequest(), keys[0]!), -1);
  });

  test('follows weights that change', () => {
    const members = pool(3);
    const table = new MaglevTable(texts(3));
    const count = (): number => keys.filter((key) => table.pick(members, makeRequest(), key) === 0).length;
    assert.ok(Math.abs(count() - 1000) < 150);
    members.weights[0] = 4;
    assert.ok(Math.abs(count() - 2000) < 150);
  });
});
