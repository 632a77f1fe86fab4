import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../shared/clock.ts';
import { hasProgram, PingEcho } from './echo.ts';

const QUESTION = { host: '127.0.0.1', timeoutMs: 5000, maxAgeMs: 60_000 };
const SEARCH_PATH = process.env['PATH'] ?? '';
const NO_PING = hasProgram('ping', SEARCH_PATH) ? false : 'the program ping is not installed';

test('a living host answers, with a round trip', { skip: NO_PING }, async () => {
  const answer = await new PingEcho(systemClock).ask(QUESTION);
  assert.equal(answer.outcome, 'reply', JSON.stringify(answer));
  assert.ok(answer.outcome === 'reply' && answer.roundTripMs >= 0 && answer.roundTripMs < 5000);
});

test('servers on one host share an answer while it is young enough', { skip: NO_PING }, async () => {
  const echo = new PingEcho(systemClock);
  const first = echo.ask(QUESTION);
  assert.equal(echo.ask(QUESTION), first);
  await first;
  assert.equal(echo.ask(QUESTION), first);
  assert.notEqual(echo.ask({ ...QUESTION, host: '127.0.0.2' }), first);
  assert.notEqual(echo.ask({ ...QUESTION, maxAgeMs: -1 }), first);
});

test('without the program, or with one that fails, nothing is known', async () => {
  const missing = await new PingEcho(systemClock, 'holdfast-no-such-program').ask(QUESTION);
  assert.deepEqual(missing, { outcome: 'unavailable', detail: 'there is no ping program here' });
  const failing = await new PingEcho(systemClock, 'ls').ask(QUESTION);
  assert.equal(failing.outcome, 'unavailable');
});

test('a program that ends with 1 has heard nothing', async () => {
  assert.deepEqual(await new PingEcho(systemClock, 'false').ask(QUESTION), { outcome: 'none' });
});

test('a program is found where the search path says', () => {
  assert.equal(hasProgram('ls', SEARCH_PATH), true);
  assert.equal(hasProgram('holdfast-no-such-program', SEARCH_PATH), false);
  assert.equal(hasProgram('ls', ''), false);
});
