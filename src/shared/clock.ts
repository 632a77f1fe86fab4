/**
 * Time as an argument. Everything that waits or measures takes a `Clock`, so that tests can drive
 * it by hand and two balancers in one process share nothing.
 */
export interface Clock {
  /** Monotonic milliseconds (fractions allowed), for durations and deadlines. */
  now(): number;
  /** Wall-clock milliseconds since the Unix epoch, for logs, cookies and drain deadlines. */
  wall(): number;
  /** Runs `task` once, `delayMs` from now. The timer never keeps the process alive. */
  after(delayMs: number, task: () => void): Timer;
  /** Runs `task` after the pending poll phase, so that bytes already in the kernel are seen first. */
  afterPoll(task: () => void): void;
}

export interface Timer {
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(delayMs, task) {
    const timeout = setTimeout(task, delayMs);
    timeout.unref();
    return { cancel: () => clearTimeout(timeout) };
  },
  afterPoll(task) {
    setImmediate(task);
  },
};
