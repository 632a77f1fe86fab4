import type { Clock, Timer } from '../../shared/clock.ts';

/** The wait is cut in this many parts, so that a stall in its middle is noticed too. */
const PARTS = 4;

/**
 * A deadline that cannot be missed because of us. A late event loop runs timers before it reads
 * sockets, so an answer may lie in the kernel when the timer fires: the timer only lets one poll phase
 * pass, then `expired` is called unless `cancel` was. It is told by how many milliseconds timers came
 * late in all: when that is much, the loop stood still and the peer cannot be blamed.
 */
export function watchDeadline(clock: Clock, timeoutMs: number, expired: (lateMs: number) => void): Timer {
  const partMs = timeoutMs / PARTS;
  let left = PARTS;
  let lateMs = 0;
  let cancelled = false;
  let timer: Timer;
  let dueAt = clock.now();

  const wait = (): void => {
    // Parts follow the moments planned, not those reached: lateness must not lengthen the whole.
    dueAt += partMs;
    timer = clock.after(Math.max(0, dueAt - clock.now()), pass);
  };
  const pass = (): void => {
    lateMs = Math.max(lateMs, clock.now() - dueAt);
    left -= 1;
    if (left > 0) wait();
    else clock.afterPoll(() => !cancelled && expired(lateMs));
  };
  wait();
  return {
    cancel() {
      cancelled = true;
      timer.cancel();
    },
  };
}

/**
 * An event loop behind by more than this, and by more than this share of the timeout, may have kept the
 * request from the server or the answer from us. Less explains no missing answer: a busy control plane
 * must not keep a hung server in service.
 */
const LATE_MS = 25;
const LATE_SHARE = 0.1;

/** Whether `lateMs`, as told by `watchDeadline`, excuses the peer. */
export function heldUp(lateMs: number, timeoutMs: number): boolean {
  return lateMs > Math.max(LATE_MS, timeoutMs * LATE_SHARE);
}
