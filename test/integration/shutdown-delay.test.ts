/** `shutdown_delay`: a balancer that is to end says so, and serves on for a while. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { get, openClient } from '../support/raw-client.ts';
import { refuses, startRun } from '../support/run-process.ts';
import { site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const BODY = `
	@ending vars {http.shutting_down} true
	respond /health "{http.shutting_down} {http.time_until_shutdown}."
	respond @ending "leave" 503
	respond "stay"`;

function config(delay: string): string {
  return site(BODY, { admin: '127.0.0.1:0', globals: `\tshutdown_delay ${delay}\n\tgrace_period 5s` });
}

test('listeners go on meanwhile, /health/ready and routes tell that the end is near', OPTIONS, async (t) => {
  const running = await startRun(t, config('4s'), ['--workers', '2']);
  const ready = async (): Promise<number> => (await fetch(`http://${running.admin}/health/ready`)).status;
  assert.equal((await get(running.port, '/health')).body, 'false .');
  assert.equal((await get(running.port)).body, 'stay');
  assert.equal(await ready(), 200);
  const kept = await openClient(running.port);
  running.child.kill('SIGTERM');
  await eventually(async () => (await ready()) === 503, 'not to be ready');
  await eventually(
    async () => /^true \d[\d.]*m?s\.$/.test((await get(running.port, '/health')).body),
    'the placeholders',
  );
  const answer = await get(running.port);
  assert.deepEqual([answer.status, answer.body], [503, 'leave']);
  // Connections stay as they are: nobody is told to close yet.
  kept.send('GET /health HTTP/1.1\r\nHost: a.test\r\n\r\n');
  assert.equal((await kept.response()).header('connection'), undefined);
  await eventually(() => refuses(running.port), 'the end of listening');
  kept.close();
  assert.equal(await running.ended, 0, running.stderr());
});

test('a second signal does not wait for its end', OPTIONS, async (t) => {
  const running = await startRun(t, config('10m'));
  running.child.kill('SIGTERM');
  await eventually(async () => (await get(running.port)).status === 503, 'the first signal to be heard');
  running.child.kill('SIGINT');
  assert.equal(await running.ended, 1, running.stderr());
});

test('a drain of the library takes its time, a stop does not', OPTIONS, async (t) => {
  const balancer = await startBalancer(t, config('10m'));
  const drained = balancer.drain();
  await eventually(async () => (await get(balancer.port)).status === 503, 'the drain to begin');
  await balancer.stop();
  await drained;
  const other = await startBalancer(t, config('10m'));
  await other.stop();
  await assert.rejects(get(other.port));
});
