import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { ConfigError } from '../../shared/config-error.ts';
import { runConfigJob, type ConfigJob } from './config-job.ts';
import { OversizeError } from './oversize-error.ts';
import { adaptLargeOrSmall, readAside, readLargeOrSmall } from './read-config.ts';

const SITE = 'http://{$NAME}:8080 {\n\treverse_proxy one:80 two:80 {\n\t\tlb_policy cookie\n\t}\n}\n';
/** Longer than what is read inline. */
const PADDING = `# ${'x'.repeat(40_000)}\n`;

function jobOf(text: string, filename = 'Caddyfile'): ConfigJob {
  return {
    request: { text, adapter: 'caddyfile', filename },
    env: { NAME: 'shop.test' },
    platform: 'linux',
    dataDir: null,
    secretRoot: 'the same for both ways',
    inForce: null,
    adaptOnly: false,
  };
}

function folderOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-read-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return folder;
}

async function refusalOf(reading: Promise<unknown>): Promise<Error> {
  try {
    await reading;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  return assert.fail('it was read');
}

test('the thread gives the result that reading inline gives', async () => {
  assert.deepEqual(await readAside(jobOf(SITE)), runConfigJob(jobOf(SITE)));
});

test('the thread refuses with the error that reading inline gives', async () => {
  for (const text of [
    'http://:80 {\n\treverse_proxy one:80 {\n\t\tlb_policy nonsense\n\t}\n}\n',
    ':80 {\n\tbind {\n',
  ]) {
    const inline = await refusalOf(readLargeOrSmall(jobOf(text)));
    const aside = await refusalOf(readAside(jobOf(text)));
    assert.ok(inline instanceof ConfigError && aside instanceof ConfigError);
    assert.equal(aside.message, inline.message);
    assert.deepEqual(aside.position, inline.position);
  }
});

test('JSON that does not parse is refused with the same words and cause', async () => {
  const job: ConfigJob = { ...jobOf(''), request: { text: '{"apps":', adapter: 'json', filename: 'a.json' } };
  const inline = await refusalOf(readLargeOrSmall(job));
  assert.deepEqual(await refusalOf(readAside(job)), inline);
  assert.ok(inline.cause instanceof SyntaxError);
});

test('a large text is too much for inline and is read all the same', async () => {
  const job = jobOf(`${PADDING}${SITE}`);
  assert.throws(() => runConfigJob(job, 32_768), OversizeError);
  assert.deepEqual(await readLargeOrSmall(job), runConfigJob(job));
});

test('a small file that imports a large one counts as large', async (t) => {
  const folder = folderOf(t, { 'large.conf': `${PADDING}${SITE}` });
  const job = jobOf('import large.conf\n', path.join(folder, 'Caddyfile'));
  assert.throws(() => runConfigJob(job, 32_768), OversizeError);
  assert.deepEqual(await readLargeOrSmall(job), runConfigJob(job));
});

test('a large text is adapted without being validated', async () => {
  const request = {
    text: `${PADDING}http://:8080 {\n\treverse_proxy one:80 {\n\t\tlb_policy ip_hash\n\t\thealth_uri /\n\t\thealth_body (\n\t}\n}\n`,
    adapter: 'caddyfile',
    filename: 'F',
  } as const;
  const { config } = await adaptLargeOrSmall(request, {});
  assert.match(JSON.stringify(config), /"expect_body":"\("/);
});
