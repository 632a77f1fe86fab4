import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock, settle } from '../../../test/support/fake-clock.ts';
import type { LookupAnswer } from './lookup.ts';
import { Names } from './resolver.ts';

const REFUSED: LookupAnswer = { ipv4: null, ipv6: null, ttlMs: null, error: 'SERVFAIL' };

function found(addresses: readonly string[], ttlMs: number | null = null): LookupAnswer {
  return { ipv4: addresses, ipv6: [], ttlMs, error: '' };
}

/** Names over a resolver whose answers the test sets. */
function start() {
  const clock = new FakeClock();
  const world = { answer: found(['10.0.0.1']), asked: 0, events: [] as string[] };
  const names = new Names({
    clock,
    lookup: async () => {
      world.asked += 1;
      return world.answer;
    },
    onChange: (name, before, after) => world.events.push(`${name.host}: ${before.join()} -> ${after.join()}`),
    onFailure: (name, error) => world.events.push(`${name.host}: ${error}`),
  });
  return { clock, names, world };
}

test('an IP address is its own answer and nobody is asked', async () => {
  const { names, world } = start();
  const name = names.hold('192.0.2.7', []);
  await names.settle([name]);
  assert.deepEqual(name.addresses(), ['192.0.2.7']);
  assert.equal(world.asked, 0);
});

test('a name is asked again every refresh interval, and a change is told', async () => {
  const { clock, names, world } = start();
  const name = names.hold('app', []);
  await names.settle([name]);
  names.start(name);
  await clock.advance(29_999);
  assert.equal(world.asked, 1);
  world.answer = found(['10.0.0.2']);
  await clock.advance(1);
  assert.equal(world.asked, 2);
  assert.deepEqual(name.addresses(), ['10.0.0.2']);
  assert.deepEqual(world.events, ['app:  -> 10.0.0.1', 'app: 10.0.0.1 -> 10.0.0.2']);
});

test('the last good answer is kept over failures, which are told once and asked about sooner', async () => {
  const { clock, names, world } = start();
  const name = names.hold('app', []);
  await names.settle([name]);
  names.start(name);
  world.answer = REFUSED;
  await clock.advance(60_000);
  assert.deepEqual(name.addresses(), ['10.0.0.1']);
  assert.equal(name.error(), 'SERVFAIL');
  assert.deepEqual(world.events.slice(1), ['app: SERVFAIL']);
  assert.equal(world.asked, 8);
  world.answer = found([]);
  await clock.advance(30_000);
  assert.deepEqual(name.addresses(), ['10.0.0.1']);
});

test('a name that never resolved joins when it does', async () => {
  const { clock, names, world } = start();
  world.answer = REFUSED;
  const name = names.hold('app', []);
  await names.settle([name]);
  assert.deepEqual(name.addresses(), []);
  names.start(name);
  world.answer = found(['10.0.0.3']);
  await clock.advance(5000);
  assert.deepEqual(name.addresses(), ['10.0.0.3']);
  assert.equal(name.error(), '');
});

test('a dial failure asks again soon, but not more than once a second', async () => {
  const { clock, names, world } = start();
  const name = names.hold('app', []);
  await names.settle([name]);
  names.start(name);
  for (let failure = 0; failure < 50; failure += 1) {
    names.hurry(name);
    await clock.advance(100);
  }
  assert.equal(world.asked, 6);
});

test('a TTL decides when to ask again, within bounds', async () => {
  const { clock, names, world } = start();
  world.answer = found(['10.0.0.1'], 0);
  const name = names.hold('app', ['192.0.2.53']);
  await names.settle([name]);
  names.start(name);
  await clock.advance(20_000);
  assert.equal(world.asked, 5);
  world.answer = found(['10.0.0.1'], 7 * 86_400_000);
  await clock.advance(5000);
  const { asked } = world;
  await clock.advance(299_000);
  assert.equal(world.asked, asked);
  await clock.advance(2000);
  assert.equal(world.asked, asked + 1);
});

test('a refresh interval of its own is the longest time between two questions, whatever the TTL', async () => {
  const { clock, names, world } = start();
  world.answer = found(['10.0.0.1'], 200_000);
  names.setRefresh(60_000);
  const name = names.hold('app', ['192.0.2.53']);
  await names.settle([name]);
  names.start(name);
  await clock.advance(59_999);
  assert.equal(world.asked, 1);
  await clock.advance(1);
  assert.equal(world.asked, 2);
  world.answer = found(['10.0.0.1'], 10_000);
  await clock.advance(60_000);
  const { asked } = world;
  await clock.advance(20_000);
  assert.equal(world.asked, asked + 2, 'a shorter TTL still decides');
});

test('a new refresh interval counts from the last question, for names already watched', async () => {
  const { clock, names, world } = start();
  const name = names.hold('app', []);
  await names.settle([name]);
  names.start(name);
  await clock.advance(20_000);
  names.setRefresh(5000);
  await clock.advance(0);
  assert.equal(world.asked, 2);
  await clock.advance(10_000);
  assert.equal(world.asked, 4);
  names.setRefresh(3_600_000);
  await clock.advance(3_599_999);
  assert.equal(world.asked, 4);
  await clock.advance(1);
  assert.equal(world.asked, 5);
});

test('the same refresh interval again does not put off a question that a failed dial brought forward', async () => {
  const { clock, names, world } = start();
  const name = names.hold('app', []);
  await names.settle([name]);
  names.start(name);
  names.setRefresh(60_000);
  names.hurry(name);
  names.setRefresh(60_000);
  await clock.advance(1000);
  assert.equal(world.asked, 2);
});

test('users of one name share its questions; the same name at other resolvers is another', async () => {
  const { names, world } = start();
  const first = names.hold('app', []);
  assert.equal(names.hold('app', []), first);
  assert.notEqual(names.hold('app', ['192.0.2.53']), first);
  await names.settle([first, first]);
  assert.equal(world.asked, 1);
});

test('a name nobody holds, or that is not to run, is not asked again', async () => {
  const { clock, names, world } = start();
  const kept = names.hold('kept', []);
  const dropped = names.hold('dropped', []);
  await names.settle([kept, dropped]);
  for (const name of [kept, dropped]) names.start(name);
  names.release(dropped);
  names.stopOthers(new Set());
  await clock.advance(600_000);
  assert.equal(world.asked, 2);
  assert.equal(clock.pending, 0);
});

test('no more than three questions are under way at the same time', async () => {
  const clock = new FakeClock();
  let running = 0;
  let most = 0;
  const names = new Names({
    clock,
    lookup: async () => {
      running += 1;
      most = Math.max(most, running);
      await settle();
      running -= 1;
      return found(['10.0.0.1']);
    },
    onChange: () => {},
    onFailure: () => {},
  });
  const held = Array.from({ length: 20 }, (_, at) => names.hold(`app${at}`, []));
  await names.settle(held);
  assert.equal(most, 3);
  assert.ok(held.every((name) => name.addresses().length === 1));
});

test('a name that was only asked about once is not kept fresh', async () => {
  const { clock, names } = start();
  await names.settle([names.hold('app', [])]);
  assert.equal(clock.pending, 0);
});
