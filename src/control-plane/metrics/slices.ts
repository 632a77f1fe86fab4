import type { Clock } from '../../shared/clock.ts';

/** Work on the main thread yields after this long, so that probes and reloads keep their times. */
const SLICE_MS = 10;

/** Returns a function to be awaited between steps of long work: it yields when the slice is used up. */
export function slicedBy(clock: Clock): () => Promise<void> {
  let startedAt = clock.now();
  return async () => {
    if (clock.now() - startedAt < SLICE_MS) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    startedAt = clock.now();
  };
}
