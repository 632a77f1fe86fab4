import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { AcceptErrors } from './accept-errors.ts';

test('a storm of accept errors makes one message a second that counts the rest', async () => {
  const clock = new FakeClock();
  await clock.advance(10);
  const errors = new AcceptErrors(clock);
  const error = new Error('accept EMFILE');
  assert.equal(errors.note('tcp/:80', error), 'listener tcp/:80 could not accept a connection: accept EMFILE');
  assert.equal(errors.note('tcp/:80', error), '');
  assert.equal(errors.note('tcp/:80', error), '');
  await clock.advance(1000);
  assert.match(errors.note('tcp/:80', error), /\(and 2 more\)$/);
});
