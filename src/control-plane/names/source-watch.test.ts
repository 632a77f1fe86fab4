import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { SourceWatch, type SourceAnswer } from './source-watch.ts';

const FAILED: SourceAnswer = { upstreams: null, error: 'SERVFAIL' };

function found(...upstreams: readonly string[]): SourceAnswer {
  return { upstreams, error: '' };
}

function start(graceMs = 0) {
  const clock = new FakeClock();
  const world = { answer: found('a:1'), asked: 0, told: [] as string[] };
  const watch = new SourceWatch({
    clock,
    refreshMs: 60_000,
    graceMs,
    ask: async () => {
      world.asked += 1;
      return world.answer;
    },
    onChange: () => world.told.push(watch.lapsed ? 'lapsed' : watch.upstreams.join()),
    onFailure: (error) => world.told.push(error),
  });
  return { clock, watch, world };
}

test('a source is asked every refresh interval and tells of what changed only', async () => {
  const { clock, watch, world } = start();
  await watch.refresh();
  watch.start();
  await clock.advance(59_999);
  assert.equal(world.asked, 1);
  await clock.advance(1);
  assert.equal(world.asked, 2);
  assert.deepEqual(world.told, ['a:1']);
  world.answer = found('a:1', 'b:1');
  await clock.advance(60_000);
  assert.deepEqual(world.told, ['a:1', 'a:1,b:1']);
});

test('a failure is told once, asked about every 5 s, and makes the source lapse; its answer is kept', async () => {
  const { clock, watch, world } = start();
  await watch.refresh();
  watch.start();
  world.answer = FAILED;
  await clock.advance(60_000 + 20_000);
  assert.equal(world.asked, 6);
  assert.deepEqual(world.told, ['a:1', 'SERVFAIL', 'lapsed']);
  assert.deepEqual(watch.upstreams, ['a:1']);
  world.answer = found('a:1');
  await clock.advance(5000);
  assert.equal(watch.lapsed, false);
  assert.deepEqual(world.told.slice(3), ['a:1']);
});

test('a grace period holds the lapse back, and a good answer ends it', async () => {
  const { clock, watch, world } = start(30_000);
  await watch.refresh();
  watch.start();
  world.answer = FAILED;
  await clock.advance(60_000 + 29_999);
  assert.equal(watch.lapsed, false);
  await clock.advance(1);
  assert.equal(watch.lapsed, true);
  world.answer = found('a:1');
  await clock.advance(5000);
  world.answer = FAILED;
  await clock.advance(60_000 + 25_000);
  assert.equal(watch.lapsed, false);
});

test('an answer without records is a failure', async () => {
  const { watch, world } = start();
  world.answer = found();
  await watch.refresh();
  assert.equal(watch.error, 'no record in the answer');
  assert.equal(watch.lapsed, true);
});

test('dial failures have it asked soon, but at most once a second, and only while it runs', async () => {
  const { clock, watch, world } = start();
  await watch.refresh();
  watch.hurry();
  await clock.advance(5000);
  assert.equal(world.asked, 1);
  watch.start();
  for (let failure = 0; failure < 50; failure += 1) {
    watch.hurry();
    await clock.advance(100);
  }
  assert.equal(world.asked, 7);
  watch.stop();
  await clock.advance(600_000);
  assert.equal(world.asked, 7);
  assert.equal(clock.pending, 0);
});
