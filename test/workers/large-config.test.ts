import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { startPlane } from '../support/plane.ts';

/** Too many for one message to a worker, and enough text for a thread of its own. */
const UPSTREAMS = 2500;

function poolOf(dials: readonly string[]): string {
  const lines = dials.map((dial) => `\t\tto ${dial}\n`).join('');
  return `http://127.0.0.1:0 {\n\treverse_proxy {\n${lines}\t\tlb_policy first\n\t}\n}\n`;
}

test('a pool of thousands is whole in the worker: its last member is reached', { timeout: 60_000 }, async (t) => {
  const last = await startBackend(t, 'last');
  const others = Array.from({ length: UPSTREAMS - 1 }, (_, at) => `127.1.${at >> 8}.${at & 255}:9`);
  const { plane, port } = await startPlane(t, poolOf([...others, `127.0.0.1:${last.port}`]), { workers: 1 });
  for (const address of others) assert.ok(plane.patchUpstream(address, { adminState: 'maint' }));
  const response = await fetch(`http://127.0.0.1:${port}/`);
  assert.equal(await response.text(), 'last');

  const seen: string[] = [];
  for await (const { upstream } of plane.eachUpstream()) seen.push(upstream);
  assert.deepEqual(
    seen,
    plane.upstreams().map(({ upstream }) => upstream),
  );
});

test('a large config that cannot be read is refused with its line, and the old one serves on', async (t) => {
  const server = await startBackend(t, 'server');
  const { port, reload } = await startPlane(t, poolOf([`127.0.0.1:${server.port}`]), { workers: 1 });
  const dials = Array.from({ length: UPSTREAMS }, (_, at) => `127.1.${at >> 8}.${at & 255}:9`);
  await assert.rejects(reload(poolOf([...dials, 'one:99999'])), {
    name: 'ConfigError',
    code: 'HOLDFAST_CONFIG',
    message: new RegExp(`99999.*, at Caddyfile:${UPSTREAMS + 3}$`),
  });
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'server');
});
