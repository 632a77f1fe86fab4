import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { Deadline, TimerWheel } from './wheel.ts';

const TICK_MS = 50;

class Waiter {
  readonly deadline = new Deadline(this);
  /** When it was called, by the clock. */
  readonly calls: number[] = [];
  readonly #clock: FakeClock;
  readonly #then: () => void;

  constructor(clock: FakeClock, then: () => void = () => {}) {
    this.#clock = clock;
    this.#then = then;
  }

  onDeadline(): void {
    this.calls.push(this.#clock.now());
    this.#then();
  }
}

/** What one owner does, one step behind the other. */
const STEP = fc.record({
  does: fc.constantFrom('arm', 'disarm', 'remove', 'nothing'),
  delayMs: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 60_000 })),
  passesMs: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constant(27_000)),
});

test('a deadline is never early and at most two ticks late, however it is moved, and a disarmed one never comes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 8 }), fc.array(STEP, { maxLength: 8 }), async (one, other) => {
      const clock = new FakeClock();
      const wheel = new TimerWheel(clock);
      const waiters = [new Waiter(clock), new Waiter(clock)];
      const expected = [Infinity, Infinity];
      for (let step = 0; step < Math.max(one.length, other.length); step += 1) {
        for (const [index, steps] of [one, other].entries()) {
          const { deadline } = waiters[index]!;
          const { does, delayMs } = steps[step] ?? { does: 'nothing', delayMs: 0 };
          if (does === 'arm') wheel.arm(deadline, delayMs);
          else if (does === 'disarm') wheel.disarm(deadline);
          else if (does === 'remove') wheel.remove(deadline);
          if (does === 'arm') expected[index] = clock.now() + delayMs;
          else if (does !== 'nothing') expected[index] = Infinity;
        }
        await clock.advance(one[step]?.passesMs ?? 50);
        waiters.forEach((waiter, index) => {
          const call = waiter.calls.shift();
          if (call === undefined) {
            assert.ok(clock.now() < expected[index]! + 2 * TICK_MS);
            return;
          }
          assert.ok(call >= expected[index]! && call <= expected[index]! + 2 * TICK_MS);
          expected[index] = Infinity;
          assert.equal(waiter.calls.length, 0);
        });
      }
    }),
    { numRuns: 60 },
  );
});

test('what one owner does when its deadline passes holds for another whose deadline has passed as well', async () => {
  const clock = new FakeClock();
  const wheel = new TimerWheel(clock);
  const owners: Waiter[] = [];
  const stopOther = (other: number) => (): void => wheel.remove(owners[other]!.deadline);
  owners.push(new Waiter(clock, stopOther(1)), new Waiter(clock, stopOther(0)));
  for (const { deadline } of owners) wheel.arm(deadline, 100);
  await clock.advance(1000);
  assert.equal(owners[0]!.calls.length + owners[1]!.calls.length, 1);
});

test('bytes that waited in the kernel while the loop stood still move the deadline before it decides', () => {
  // A clock whose timer runs late and whose poll phase is played by hand.
  let now = 0;
  let tick = (): void => {};
  let poll = (): void => {};
  const wheel = new TimerWheel({
    now: () => now,
    wall: () => now,
    after: (_, task) => {
      tick = task;
      return { cancel: () => {} };
    },
    afterPoll: (task) => {
      poll = task;
    },
  });
  let fired = 0;
  const deadline = new Deadline({ onDeadline: () => (fired += 1) });
  wheel.arm(deadline, 100);
  now = 5000;
  tick();
  wheel.arm(deadline, 100);
  poll();
  assert.equal(fired, 0);
  now = 5200;
  tick();
  poll();
  assert.equal(fired, 1);
});
