import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../shared/random.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import type { ProbeResult } from './probe.ts';
import { ProbeScheduler, type ProbeJob } from './scheduler.ts';

const PASS: ProbeResult = {
  outcome: 'pass',
  reason: '',
  detail: '',
  roundTripMs: 0,
  localAddress: '',
  status: 200,
  body: '',
};

interface TestJob extends ProbeJob {
  readonly starts: number[];
  readonly results: ProbeResult[];
  overlapped: boolean;
}

/** A job whose probes take `durationMs` of the fake clock. */
function makeJob(clock: FakeClock, intervalMs: number, durationMs: number): TestJob {
  let running = 0;
  const job: TestJob = {
    intervalMs,
    starts: [],
    results: [],
    overlapped: false,
    run() {
      job.starts.push(clock.now());
      running += 1;
      job.overlapped ||= running > 1;
      return new Promise((resolve) => {
        clock.after(durationMs, () => {
          running -= 1;
          resolve(PASS);
        });
      });
    },
    onResult: (result) => void job.results.push(result),
  };
  return job;
}

function makeScheduler(clock: FakeClock, concurrency = 64): ProbeScheduler {
  return new ProbeScheduler({ clock, random: seededRandom(7), concurrency });
}

test('first probes of twenty servers all run within the first second, and not in one tick', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock);
  const jobs = Array.from({ length: 20 }, () => makeJob(clock, 10_000, 1));
  for (const job of jobs) scheduler.add(job);
  await clock.advance(1000);
  assert.ok(jobs.every((job) => job.starts.length >= 1));
  assert.equal(new Set(jobs.map((job) => Math.floor(job.starts[0]! / 10))).size > 10, true);
});

test('later probes are spread over the whole interval, one interval from start to start', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock);
  const jobs = Array.from({ length: 40 }, () => makeJob(clock, 10_000, 3000));
  for (const job of jobs) scheduler.add(job);
  await clock.advance(60_000);
  const quarters = new Set(jobs.map((job) => Math.floor((job.starts[2]! % 10_000) / 2500)));
  assert.equal(quarters.size, 4);
  for (const { starts } of jobs) {
    for (let at = 2; at < starts.length; at += 1) {
      const gap = starts[at]! - starts[at - 1]!;
      assert.ok(gap >= 9500 && gap <= 10_500, `gap ${gap}`);
    }
  }
});

test('a probe slower than the interval delays the next one and never overlaps itself', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock);
  const job = makeJob(clock, 100, 350);
  scheduler.add(job);
  await clock.advance(5000);
  assert.equal(job.overlapped, false);
  assert.ok(job.starts.length >= 12);
});

test('no more probes than the cap run at the same time, and all get their turn', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock, 3);
  let running = 0;
  let most = 0;
  const jobs = Array.from({ length: 30 }, () => {
    const job = makeJob(clock, 10_000, 50);
    return {
      ...job,
      async run(signal: AbortSignal) {
        running += 1;
        most = Math.max(most, running);
        const result = await job.run(signal);
        running -= 1;
        return result;
      },
    };
  });
  for (const job of jobs) scheduler.add(job);
  await clock.advance(3000);
  assert.equal(most, 3);
  assert.ok(jobs.every((job) => job.starts.length >= 1));
});

test('a cancelled probe is no result, and its job never runs again', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock);
  const job = makeJob(clock, 1000, 500);
  scheduler.add(job);
  await clock.advance(1000);
  const { length } = job.results;
  while (job.starts.length === job.results.length) await clock.advance(10);
  scheduler.remove(job);
  await clock.advance(10_000);
  assert.equal(job.results.length <= length + 1, true);
  assert.equal(job.starts.length, job.results.length + 1);
});

test('adding a running job again changes nothing', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock);
  const job = makeJob(clock, 1000, 1);
  scheduler.add(job);
  scheduler.add(job);
  await clock.advance(20_000);
  assert.ok(job.starts.length <= 23, `${job.starts.length} starts`);
});

test('a probe that throws is neutral and the next one follows', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock);
  const results: ProbeResult[] = [];
  scheduler.add({
    intervalMs: 100,
    run: () => Promise.reject(new Error('boom')),
    onResult: (result) => void results.push(result),
  });
  await clock.advance(1000);
  assert.ok(results.length > 5);
  assert.ok(results.every((result) => result.outcome === 'neutral' && result.detail.includes('boom')));
});

test('stop leaves no timer behind', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock);
  for (let count = 0; count < 5; count += 1) scheduler.add(makeJob(clock, 1000, 1));
  await clock.advance(5000);
  scheduler.stop();
  await clock.advance(5);
  assert.equal(clock.pending, 0);
});

test('jobs that mostly wait take none of the places', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock, 1);
  const idle = Array.from({ length: 20 }, () => ({ ...makeJob(clock, 5000, 5000), idle: true }));
  const busy = makeJob(clock, 1000, 1);
  for (const job of [...idle, busy]) scheduler.add(job);
  await clock.advance(5000);
  assert.ok(idle.every((job) => job.starts.length === 1));
  assert.ok(busy.starts.length >= 4);
});

test('a job has the jitter it asks for: none keeps its place exactly', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock);
  const exact = { ...makeJob(clock, 1000, 1), jitter: 0 };
  const loose = { ...makeJob(clock, 1000, 1), jitter: 0.5 };
  for (const job of [exact, loose]) scheduler.add(job);
  await clock.advance(30_000);
  scheduler.stop();
  const gaps = ({ starts }: TestJob): number[] => starts.slice(2).map((at, index) => at - starts[index + 1]!);
  assert.ok(gaps(exact).every((gap) => Math.abs(gap - 1000) < 0.001));
  assert.ok(gaps(loose).some((gap) => Math.abs(gap - 1000) > 100));
  assert.ok(gaps(loose).every((gap) => gap >= 500 && gap <= 1500));
});

test('a removed job is closed once', async () => {
  const clock = new FakeClock();
  const scheduler = makeScheduler(clock);
  let closed = 0;
  const job = { ...makeJob(clock, 1000, 1), close: () => void (closed += 1) };
  scheduler.add(job);
  await clock.advance(1500);
  scheduler.remove(job);
  scheduler.remove(job);
  assert.equal(closed, 1);
});
