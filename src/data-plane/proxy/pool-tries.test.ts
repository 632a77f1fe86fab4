import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UdpTestWorld } from '../../../test/support/udp-world.ts';
import { MEMBER_DOWN, MEMBER_ELIGIBLE, MEMBER_STATE } from '../../shared/state-table/layout.ts';
import { PoolTries, type Dial, type TriedRequest } from './pool-tries.ts';

class CountedTries extends PoolTries {
  dials = 0;

  protected override dial(): Dial {
    this.dials += 1;
    return { close: () => undefined };
  }
}

function makeRequest(random: TriedRequest['random']): TriedRequest {
  const request: TriedRequest = {
    ...{ client: null, flow: null, cookies: '', secure: false, target: '/', wallMs: 0, random, tried: [] },
    ...{ affinity: '', stickyPosition: -1, stickyAction: 'keep', spilledFrom: -1 },
    headerValue: () => '',
    queryValue: () => '',
    forgetTried: () => void (request.tried = []),
  };
  return request;
}

/** Tries that pause because the only server is down. */
function pausedTries() {
  const made = new UdpTestWorld();
  const { table, world, clock } = made;
  table.members.store(1, MEMBER_STATE, MEMBER_DOWN);
  const ended: number[] = [];
  const user = { over: false, onTriesEnded: (status: number) => void ended.push(status) };
  const pool = made.pool([{ port: 80, row: 1 }], { retry: { tryDurationMs: 1000, tryIntervalMs: 250 } });
  const tries = new CountedTries(
    { ...world, dialFailed: () => undefined },
    pool,
    makeRequest(world.random),
    user,
    clock.now(),
  );
  tries.next();
  const revive = (): void => table.members.store(1, MEMBER_STATE, MEMBER_ELIGIBLE);
  return { tries, clock, ended, revive };
}

test('a server that comes back during a pause is dialled when that is over', async () => {
  const { tries, clock, ended, revive } = pausedTries();
  revive();
  await clock.advance(250);
  assert.deepEqual([tries.dials, ended], [1, []]);
});

test('a server that does not come back in time is an answer', async () => {
  const { tries, clock, ended } = pausedTries();
  await clock.advance(1000);
  assert.deepEqual([tries.dials, ended], [0, [503]]);
});

test('tries that were left during a pause dial nobody, and end without a word', async () => {
  const { tries, clock, ended, revive } = pausedTries();
  tries.leave();
  revive();
  await clock.advance(2000);
  assert.deepEqual([tries.dials, ended], [0, []]);
});
