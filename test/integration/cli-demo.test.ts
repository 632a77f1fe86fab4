/** The first thing a newcomer runs. It has fixed ports, so it is skipped where they are in use. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { spawnHoldfast } from '../cli/spawn.ts';
import { eventually } from '../support/backend.ts';
import { get } from '../support/raw-client.ts';
import { refuses } from '../support/run-process.ts';

const OPTIONS = { timeout: 60_000 };

test('npm start comes up, keeps a client on one backend, and ends with Ctrl-C', OPTIONS, async (t) => {
  const ports = [8080, 9001, 9002, 9003, 2019];
  const free = await Promise.all(ports.map(refuses));
  const taken = ports.filter((_, index) => !free[index]);
  if (taken.length > 0) return t.skip(`ports in use on this machine: ${taken.join(', ')}`);
  const child = spawnHoldfast(['demo']);
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let stdout = '';
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  await eventually(
    () => {
      if (child.exitCode !== null) throw new Error(`it ended with code ${child.exitCode}: ${stdout}`);
      return stdout.includes('Ctrl-C ends the demo');
    },
    'the demo to come up',
    30_000,
  );
  assert.match(stdout, /http:\/\/localhost:8080/);
  const backendOf = async (): Promise<string> => /^backend (\d)/.exec((await get(8080)).body)![1]!;
  const home = await backendOf();
  for (let index = 0; index < 10; index += 1) assert.equal(await backendOf(), home);
  const pid = Number(new RegExp(`backend ${home}: kill (\\d+)`).exec(stdout)![1]);
  process.kill(pid);
  await eventually(() => stdout.includes(`backend ${home} is down`), 'the loss of a backend to be told');
  const other = await backendOf();
  assert.notEqual(other, home);
  child.kill('SIGINT');
  assert.deepEqual(await ended, [0, null]);
  await eventually(() => refuses(9001), 'the backends of the demo to end with it');
});
