import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { goldenCases } from '../../../test/golden/golden.ts';
import { runConfigJob, type ConfigJob, type ConfigResult } from './config-job.ts';
import { ConfigAssembly } from './config-parts.ts';
import { answerJob, readReply } from './replies.ts';

const GOLDEN = fileURLToPath(new URL('../../../test/golden/caddyfile', import.meta.url));

function jobOf(text: string, rest: Partial<ConfigJob> = {}): ConfigJob {
  return {
    request: { text, adapter: 'caddyfile', filename: path.join(GOLDEN, 'Caddyfile') },
    env: {},
    platform: 'linux',
    dataDir: null,
    secretRoot: 'the same for both ways',
    inForce: null,
    adaptOnly: false,
    ...rest,
  };
}

/** As the main thread gets it: every reply cloned on its way. */
function throughParts(job: ConfigJob): { readonly result: ConfigResult; readonly replies: number } {
  const assembly = new ConfigAssembly();
  let replies = 0;
  for (const reply of answerJob(job)) {
    replies += 1;
    const parts = readReply(structuredClone(reply));
    if (parts === null) break;
    for (const part of parts) assembly.take(part);
  }
  return { result: assembly.result(), replies };
}

function outcomeOf(run: () => unknown): unknown {
  try {
    return { result: run() };
  } catch (error) {
    return { error };
  }
}

for (const { name, input } of goldenCases(GOLDEN)) {
  test(`${name}: result or error is the same through the parts`, () => {
    const job = jobOf(input);
    assert.deepEqual(
      outcomeOf(() => throughParts(job).result),
      outcomeOf(() => runConfigJob(job)),
    );
  });
}

test('a large pool comes in many parts and is whole and frozen at the end', () => {
  const upstreams = Array.from({ length: 5001 }, (_, at) => `127.0.${at >> 8}.${at & 255}:80`);
  const job = jobOf(
    `http://:8080 {\n\treverse_proxy ${upstreams.join(' ')}\n}\nhttp://:8081 {\n\treverse_proxy one:80 two:80\n}\n`,
  );
  const { result, replies } = throughParts(job);
  assert.deepEqual(result, runConfigJob(job));
  assert.ok(replies > 4, `${replies} replies`);
  const pool = result.compiled!.pools.find(({ members }) => members.length === 5001)!;
  assert.ok(
    [pool, pool.members, pool.members[5000], pool.section.members, pool.section.members[5000]].every(Object.isFrozen),
  );
});

test('the config in force is not compiled again', () => {
  const { text } = runConfigJob(jobOf(':8080\n'));
  assert.equal(throughParts(jobOf(':8080\n', { inForce: text })).result.compiled, null);
  assert.notEqual(throughParts(jobOf(':8080\n', { inForce: null })).result.compiled, null);
});

test('an error that is no ConfigError keeps its message', () => {
  const text = 'http://:80 {\n\treverse_proxy one:80 two:80 {\n\t\tlb_policy cookie\n\t}\n}\n';
  const job = jobOf(text, { dataDir: '/dev/null/none', secretRoot: null });
  assert.throws(() => runConfigJob(job), /\/dev\/null\/none/);
  assert.throws(() => throughParts(job), /\/dev\/null\/none/);
});
