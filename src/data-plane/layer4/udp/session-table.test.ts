import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SessionTable, type TableEntry } from './session-table.ts';

class Entry implements TableEntry<Entry> {
  readonly key: string;
  lastAt = 0;
  proven = false;
  older: Entry | null = null;
  newer: Entry | null = null;

  constructor(key: string) {
    this.key = key;
  }
}

function tableOf(...keys: readonly string[]): { table: SessionTable<Entry>; at: (key: string) => Entry } {
  const table = new SessionTable<Entry>();
  keys.forEach((key, index) => table.add(new Entry(key), index));
  return { table, at: (key) => table.get(key)! };
}

test('the session that was silent longest makes room', () => {
  const { table, at } = tableOf('a', 'b', 'c');
  table.touch(at('a'), 10);
  assert.equal(table.leastWorthy?.key, 'b');
  table.delete(at('b'));
  assert.equal(table.leastWorthy?.key, 'c');
});

test('a session whose client answered makes room only when no other is left', () => {
  const { table, at } = tableOf('a', 'b', 'c');
  table.prove(at('a'));
  assert.equal(table.leastWorthy?.key, 'b');
  table.delete(at('b'));
  table.delete(at('c'));
  assert.equal(table.leastWorthy?.key, 'a');
});

test('the oldest of all is found whichever kind it is', () => {
  const { table, at } = tableOf('a', 'b');
  table.prove(at('a'));
  assert.equal(table.oldest?.key, 'a');
  table.touch(at('a'), 10);
  assert.equal(table.oldest?.key, 'b');
});

test('deleting twice changes nothing', () => {
  const { table, at } = tableOf('a', 'b');
  const a = at('a');
  table.delete(a);
  table.delete(a);
  assert.equal(table.size, 1);
  assert.equal(table.oldest?.key, 'b');
});

interface Model {
  readonly key: string;
  readonly lastAt: number;
  readonly proven: boolean;
}

const steps = fc.array(
  fc.record({ act: fc.constantFrom('add', 'touch', 'prove', 'delete', 'evict'), key: fc.constantFrom(...'abcdefgh') }),
  { maxLength: 80 },
);

test('whatever happens, the orders are those of a list that is sorted anew each time', () => {
  fc.assert(
    fc.property(steps, (acts) => {
      const table = new SessionTable<Entry>();
      let model: Model[] = [];
      acts.forEach(({ act, key }, now) => {
        const entry = table.get(key);
        if (act === 'add' && entry === undefined) {
          table.add(new Entry(key), now);
          model.push({ key, lastAt: now, proven: false });
        } else if (act === 'touch' && entry !== undefined) {
          table.touch(entry, now);
          model = model.map((one) => (one.key === key ? { ...one, lastAt: now } : one));
        } else if (act === 'prove' && entry !== undefined && !entry.proven) {
          table.touch(entry, now);
          table.prove(entry);
          model = model.map((one) => (one.key === key ? { ...one, lastAt: now, proven: true } : one));
        } else if (act === 'delete' && entry !== undefined) {
          table.delete(entry);
          model = model.filter((one) => one.key !== key);
        } else if (act === 'evict' && table.leastWorthy !== null) {
          const gone = table.leastWorthy;
          table.delete(gone);
          model = model.filter((one) => one.key !== gone.key);
        }
        const byAge = model.toSorted((a, b) => a.lastAt - b.lastAt);
        assert.equal(table.size, model.length);
        assert.equal(table.oldest?.key, byAge[0]?.key);
        assert.equal(table.leastWorthy?.key, (byAge.find(({ proven }) => !proven) ?? byAge[0])?.key);
      });
    }),
  );
});
