import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import type { DerivedResult, WorkerMessage } from '../../shared/messages.ts';
import { Derivations, MAX_QUESTIONS, MAX_WAIT_MS } from './derivations.ts';

function makeDerivations(): {
  readonly clock: FakeClock;
  readonly derivations: Derivations;
  readonly posted: WorkerMessage[];
  ask(address: string): string[];
  answer(id: number, address: string, result: DerivedResult): void;
} {
  const clock = new FakeClock();
  const posted: WorkerMessage[] = [];
  const store = { derived: () => undefined, addDerived: () => undefined };
  const derivations = new Derivations({ clock, store, post: (message) => void posted.push(message) });
  return {
    ...{ clock, derivations, posted },
    ask: (address) => {
      const outcomes: string[] = [];
      derivations.ask({ kind: 'derive', pattern: 'p', addresses: [address] }, ({ outcome }) => outcomes.push(outcome));
      return outcomes;
    },
    answer: (id, address, result) =>
      derivations.answered({ type: 'derived', id, pattern: 'p', addresses: [address], result }),
  };
}

test('requests that name the same share one question, and each has one answer', () => {
  const { ask, answer, posted } = makeDerivations();
  const [first, second, other] = [ask('a:1'), ask('a:1'), ask('b:1')];
  assert.equal(posted.length, 2);
  answer(1, 'a:1', { outcome: 'none' });
  answer(1, 'a:1', { outcome: 'none' });
  answer(2, 'b:1', { outcome: 'busy' });
  assert.deepEqual([first, second, other], [['no'], ['no'], ['unavailable']]);
});

test('nobody waits for ever, and no more wait than there is room for', async () => {
  const { ask, clock } = makeDerivations();
  const waiting = Array.from({ length: MAX_QUESTIONS }, (_, at) => ask(`a:${at + 1}`));
  assert.deepEqual(ask('b:1'), ['unavailable']);
  await clock.advance(MAX_WAIT_MS);
  assert.ok(waiting.every(([outcome]) => outcome === 'unavailable'));
  assert.deepEqual(ask('b:1'), []);
});

test('the log tells of refused ones once a second', async () => {
  const { answer, clock, posted } = makeDerivations();
  answer(7, 'x', { outcome: 'none' });
  answer(8, 'y', { outcome: 'none' });
  assert.equal(posted.length, 1);
  await clock.advance(1000);
  answer(9, 'z', { outcome: 'busy' });
  assert.equal(posted.length, 2);
});
