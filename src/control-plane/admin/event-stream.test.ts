import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStream } from './event-stream.ts';

function createSource(): { stream: EventStream<number>; emit: (value: number) => void; listeners: () => number } {
  const listeners = new Set<(value: number) => void>();
  const stream = new EventStream<number>(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    (value) => ({ event: 'count', data: value }),
  );
  return { stream, emit: (value) => listeners.forEach((listener) => listener(value)), listeners: () => listeners.size };
}

test('what happens before the first read is not lost', async () => {
  const { stream, emit } = createSource();
  emit(1);
  emit(2);
  const pieces = stream.pieces();
  assert.match((await pieces.next()).value ?? '', /^:/);
  assert.equal((await pieces.next()).value, 'event: count\ndata: 1\n\nevent: count\ndata: 2\n\n');
  const next = pieces.next();
  emit(3);
  assert.equal((await next).value, 'event: count\ndata: 3\n\n');
  stream.close();
});

test('a slow reader loses the oldest events and is told how many', async () => {
  const { stream, emit } = createSource();
  for (let value = 0; value < 1500; value += 1) emit(value);
  const pieces = stream.pieces();
  await pieces.next();
  const text = (await pieces.next()).value ?? '';
  assert.match(text, /^event: dropped\ndata: \{"count":476\}\n\nevent: count\ndata: 476\n\n/);
  assert.match(text, /data: 1499\n\n$/);
  stream.close();
});

test('closing ends the pieces and the listening', async () => {
  const { stream, listeners } = createSource();
  const pieces = stream.pieces();
  await pieces.next();
  const last = pieces.next();
  stream.close();
  assert.equal((await last).done, true);
  assert.equal(listeners(), 0);
});
