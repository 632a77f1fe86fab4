import type { Clock } from '../shared/clock.ts';

/** Ending so many connections takes a worker a few milliseconds. */
const BATCH = 256;

/** Does something to each of many, with room between for whatever else the thread has to do. The first ones at once. */
export function inBatches<Item>(clock: Clock, items: readonly Item[], act: (item: Item) => void, from = 0): void {
  const end = Math.min(items.length, from + BATCH);
  for (let at = from; at < end; at += 1) act(items[at]!);
  if (end < items.length) clock.afterPoll(() => inBatches(clock, items, act, end));
}
