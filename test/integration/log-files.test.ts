/** Access lines in files: written, rotated, filtered, opened anew on reload. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { createBalancer, type Balancer } from '../../src/index.ts';
import { eventually } from '../support/backend.ts';
import { globals } from '../support/balance.ts';

const OPTIONS = { timeout: 60_000 };

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-logs-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function config(log: string, body = 'x'): string {
  return `${globals()}http://:0 {\nbind 127.0.0.1\nlog {\n${log}\n}\nrespond /fail ${body} 503\nrespond ${body}\n}\n`;
}

async function start(t: TestContext, text: string): Promise<Balancer> {
  const balancer = await createBalancer({ config: text, workers: 1 });
  t.after(() => balancer.stop(0));
  return balancer;
}

async function visit(balancer: Balancer, path: string): Promise<void> {
  await (await fetch(`http://127.0.0.1:${balancer.address().port}${path}`)).text();
}

async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

async function targetsIn(file: string): Promise<string[]> {
  const lines = (await textOf(file)).split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { target: string }).target);
}

test('lines go to the file of the site, in folders that are made, readable by the owner only', OPTIONS, async (t) => {
  const file = join(await folderFor(t), 'deep/er/access.log');
  const balancer = await start(t, config(`output file ${file}`));
  await visit(balancer, '/a');
  await visit(balancer, '/b?c');
  await eventually(async () => (await targetsIn(file)).length === 2, 'two lines are written');
  assert.deepEqual(await targetsIn(file), ['/a', '/b?c']);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  await visit(balancer, '/last');
  await balancer.stop(1000);
  assert.deepEqual((await targetsIn(file)).at(-1), '/last');
});

test('a file that was moved away is made anew on reload, and no line is lost', OPTIONS, async (t) => {
  const folder = await folderFor(t);
  const file = join(folder, 'access.log');
  const balancer = await start(t, config(`output file ${file}`));
  await visit(balancer, '/one');
  await eventually(async () => (await targetsIn(file)).length === 1, 'the first line is written');
  await rename(file, join(folder, 'old.log'));
  await balancer.reload(config(`output file ${file}`, 'y'));
  await visit(balancer, '/two');
  await eventually(async () => (await targetsIn(file)).length === 1, 'the second line is written');
  assert.deepEqual([await targetsIn(join(folder, 'old.log')), await targetsIn(file)], [['/one'], ['/two']]);
});

test('a file that cannot be written refuses the config', OPTIONS, async (t) => {
  const folder = await folderFor(t);
  await mkdir(join(folder, 'taken'));
  const balancer = await start(t, config('output discard'));
  const taken = config(`output file ${join(folder, 'taken')}`);
  await assert.rejects(balancer.reload(taken), /cannot write the log file .*taken/);
  await visit(balancer, '/');
});

test('a file that is large enough is rotated, compressed, and the oldest pieces go', OPTIONS, async (t) => {
  const folder = await folderFor(t);
  const file = join(folder, 'access.log');
  const balancer = await start(t, config(`output file ${file} {\nroll_size 1MiB\nroll_keep 2\n}`));
  const long = `/${'x'.repeat(12_000)}`;
  const rotated = async (): Promise<string[]> =>
    (await readdir(folder)).filter((name) => name.endsWith('.gz')).toSorted();
  const seen = new Set<string>();
  for (let round = 0; round < 60 && seen.size < 4; round += 1) {
    await Promise.all(Array.from({ length: 10 }, () => visit(balancer, long)));
    for (const name of await rotated()) seen.add(name);
  }
  assert.ok(seen.size >= 4, `${seen.size} rotations were seen`);
  await eventually(async () => (await rotated()).length <= 2, 'old pieces are removed');
  const [name = ''] = await rotated();
  assert.match(name, /^access-\d{4}-\d\d-\d\dT[\d-]+\.\d{3}-\d+\.log\.gz$/);
  const lines = gunzipSync(await readFile(join(folder, name)))
    .toString()
    .trimEnd()
    .split('\n');
  for (const line of lines) assert.equal((JSON.parse(line) as { target: string }).target, long);
});

test('filters, level and format change what is written', OPTIONS, async (t) => {
  const folder = await folderFor(t);
  const file = join(folder, 'filtered.log');
  const format =
    'format filter {\nrequest>client_ip ip_mask 16\npeer delete\nhost hash\nstatus rename code\nrequest>uri replace HIDDEN\n}';
  const balancer = await start(t, config(`output file ${file}\n${format}`));
  await visit(balancer, '/secret');
  await eventually(async () => (await textOf(file)) !== '', 'a line is written');
  const line = JSON.parse(await textOf(file)) as Record<string, unknown>;
  assert.deepEqual(
    [line['client'], line['peer'], line['code'], line['target']],
    ['127.0.0.0', undefined, 200, 'HIDDEN'],
  );
  assert.match(String(line['host']), /^[0-9a-f]{8}$/);

  const errors = join(folder, 'errors.log');
  await balancer.reload(config(`output file ${errors}\nformat console\nlevel ERROR`));
  await visit(balancer, '/fine');
  await visit(balancer, '/fail');
  await eventually(async () => (await textOf(errors)) !== '', 'a line is written');
  assert.match(
    await textOf(errors),
    /^\d{4}-[^\t]+\tERROR\thandled request\t\{"client":"127.0.0.1".*"status":503.*\}\n$/,
  );
});

test('sampling writes the first lines of an interval and then every so many-th', OPTIONS, async (t) => {
  const file = join(await folderFor(t), 'sampled.log');
  const balancer = await start(t, config(`output file ${file}\nsampling {\ninterval 1h\nfirst 2\nthereafter 5\n}`));
  for (let number = 1; number <= 13; number += 1) await visit(balancer, `/${number}`);
  await balancer.stop(1000);
  assert.deepEqual(await targetsIn(file), ['/1', '/2', '/7', '/12']);
});
