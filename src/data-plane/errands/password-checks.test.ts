import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import type { PasswordErrand } from '../route/wait.ts';
import type { HashQuestion } from './hash-thread.ts';
import type { HashThreadUser } from './open-hash-thread.ts';
import { openHashThread } from './open-hash-thread.ts';
import { MAX_CHECKS, MAX_WAIT_MS, PasswordChecks } from './password-checks.ts';

const BCRYPT = '$2b$04$B1Y1/jf0ytrjOd9aA1v0cuvNJcpSAs0zTutBN.QOwce6JC1.CaF36';

function errand(password: string, changes: Partial<PasswordErrand> = {}): PasswordErrand {
  return { kind: 'password', username: 'ann', password, hash: BCRYPT, cache: true, ...changes };
}

/** A thread that answers when the test says so. */
function makeChecks(): {
  readonly checks: PasswordChecks;
  readonly clock: FakeClock;
  readonly asked: HashQuestion[];
  readonly lost: string[];
  opened(): number;
  user(): HashThreadUser;
  ask(errand: PasswordErrand): string[];
} {
  const clock = new FakeClock();
  const asked: HashQuestion[] = [];
  const lost: string[] = [];
  const users: HashThreadUser[] = [];
  const checks = new PasswordChecks({
    clock,
    secret: Buffer.alloc(32, 7),
    open: (user) => {
      users.push(user);
      return { ask: (question) => void asked.push(question) };
    },
    onLost: (why) => lost.push(why),
  });
  const ask = (question: PasswordErrand): string[] => {
    const outcomes: string[] = [];
    checks.check(question, ({ outcome }) => outcomes.push(outcome));
    return outcomes;
  };
  return { checks, clock, asked, lost, opened: () => users.length, user: () => users.at(-1)!, ask };
}

test('requests with the same password share one check, and later ones need none', () => {
  const { ask, asked, user } = makeChecks();
  const [first, second] = [ask(errand('a')), ask(errand('a'))];
  assert.equal(asked.length, 1);
  user().onAnswer({ id: asked[0]!.id, isRight: true });
  assert.deepEqual([first, second, ask(errand('a'))], [['yes'], ['yes'], ['yes']]);
  assert.equal(asked.length, 1);
});

test('a wrong password is remembered too, and apart from other names, hashes and passwords', () => {
  const { ask, asked, user } = makeChecks();
  ask(errand('a'));
  user().onAnswer({ id: asked[0]!.id, isRight: false });
  assert.deepEqual(ask(errand('a')), ['no']);
  for (const other of [errand('b'), errand('a', { username: 'bob' }), errand('a', { hash: '$2b$' })]) {
    assert.deepEqual(ask(other), []);
  }
  assert.equal(asked.length, 4);
});

test('nothing is remembered where the config wants no cache', () => {
  const { ask, asked, user } = makeChecks();
  ask(errand('a', { cache: false }));
  user().onAnswer({ id: asked[0]!.id, isRight: true });
  assert.deepEqual(ask(errand('a', { cache: false })), []);
  assert.equal(asked.length, 2);
});

test('one check more than there is room for is refused at once, also when the others waited too long', async () => {
  const { ask, asked, clock, user } = makeChecks();
  const running = Array.from({ length: MAX_CHECKS }, (_, index) => ask(errand(`p${index}`)));
  assert.deepEqual(ask(errand('one more')), ['unavailable']);
  await clock.advance(MAX_WAIT_MS);
  assert.ok(running.every(([outcome]) => outcome === 'unavailable'));
  assert.deepEqual(ask(errand('one more')), ['unavailable']);
  user().onAnswer({ id: asked[0]!.id, isRight: true });
  assert.deepEqual(running[0], ['unavailable']);
  assert.deepEqual(ask(errand('p0')), ['yes']);
  assert.deepEqual(ask(errand('one more')), []);
});

test('guesses push no right password out of memory', () => {
  const { ask, asked, user } = makeChecks();
  ask(errand('right'));
  user().onAnswer({ id: asked[0]!.id, isRight: true });
  for (let guess = 0; guess < 3000; guess += 1) {
    ask(errand(`guess ${guess}`));
    user().onAnswer({ id: asked.at(-1)!.id, isRight: false });
  }
  assert.deepEqual(ask(errand('right')), ['yes']);
});

test('a thread that ends leaves nobody waiting and is opened anew', () => {
  const { ask, lost, opened, user } = makeChecks();
  const waiting = ask(errand('a'));
  user().onEnd('it threw');
  assert.deepEqual([waiting, lost, opened()], [['unavailable'], ['it threw'], 1]);
  assert.deepEqual(ask(errand('a')), []);
  assert.equal(opened(), 2);
});

test('no thread to be had: nobody waits, and the next check asks for one again', () => {
  const lost: string[] = [];
  const checks = new PasswordChecks({
    clock: new FakeClock(),
    secret: Buffer.alloc(32, 7),
    open: () => {
      throw new Error('EAGAIN');
    },
    onLost: (why) => lost.push(why),
  });
  const outcomes: string[] = [];
  for (let time = 0; time < 2; time += 1) checks.check(errand('a'), ({ outcome }) => outcomes.push(outcome));
  assert.deepEqual(
    [outcomes, lost],
    [
      ['unavailable', 'unavailable'],
      ['EAGAIN', 'EAGAIN'],
    ],
  );
});

test('the real thread tells right from wrong', async (t: TestContext) => {
  const answers: boolean[] = [];
  await new Promise<void>((resolve) => {
    const thread = openHashThread('test', {
      onAnswer: ({ isRight }) => {
        answers.push(isRight);
        if (answers.length === 2) resolve();
      },
      onEnd: (why) => t.diagnostic(why),
    });
    thread.ask({ id: 1, hash: BCRYPT, password: 'sesame' });
    thread.ask({ id: 2, hash: BCRYPT, password: 'Sesame' });
    // The thread keeps nobody alive.
    const alive = setInterval(() => answers.length === 2 && clearInterval(alive), 10);
  });
  assert.deepEqual(answers, [true, false]);
});
