/** The commands that read a config, over one of layer 4. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runInProcess } from './in-process.ts';

const CONFIG = `{
	layer4 {
		:3306 {
			route {
				proxy db-1:3306 db-2:3306 db-3:3306 {
					lb_policy ip_hash
					health tcp
					best_effort off
				}
			}
		}
		udp/:53 {
			route {
				proxy udp/10.0.0.1:53 {
					lb_policy ip_hash
				}
			}
		}
	}
}
`;

async function fileFor(t: TestContext, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'Caddyfile');
  await writeFile(file, text);
  return file;
}

test('validate accepts it, and names the line of what is wrong', async (t) => {
  const good = await runInProcess(['validate', '--config', await fileFor(t, CONFIG)]);
  assert.match(good.stdout, /is valid/);
  const file = await fileFor(t, CONFIG.replace('udp/10.0.0.1', '10.0.0.1'));
  const bad = await runInProcess(['validate', '--config', file]);
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /is no UDP upstream.*: write udp\/10\.0\.0\.1:53, at .*Caddyfile:14/);
});

test('adapt prints the JSON that load and validate take', async (t) => {
  const { stdout } = await runInProcess(['adapt', '--config', await fileFor(t, CONFIG)]);
  const json = join(await mkdtemp(join(tmpdir(), 'holdfast-cli-')), 'config.json');
  t.after(() => rm(join(json, '..'), { recursive: true, force: true }));
  await writeFile(json, stdout);
  assert.match((await runInProcess(['validate', '--config', json])).stdout, /is valid/);
});

test('fmt leaves a formatted one as it is', async (t) => {
  const file = await fileFor(t, CONFIG.replaceAll('\t', '  '));
  await runInProcess(['fmt', '--overwrite', file]);
  assert.equal(await readFile(file, 'utf8'), CONFIG);
});

test('simulate speaks of clients without a server, not of answers', async (t) => {
  const file = await fileFor(t, CONFIG);
  const run = (...down: readonly string[]): Promise<{ readonly stdout: string }> =>
    runInProcess(['simulate', '--config', file, '--clients', '500', ...down.flatMap((name) => ['--down', name])]);
  const lastTwo = (await run('db-1:3306', 'db-2:3306')).stdout;
  assert.match(lastTwo, /db-3:3306 +100\.0 % +100\.0 % get no server/);
  assert.match((await run('db-1:3306', 'db-2:3306', 'db-3:3306')).stdout, /100\.0 % of the clients get no server/);
  assert.match((await run('udp/10.0.0.1:53')).stdout, /udp\/10\.0\.0\.1:53 +down/);
  assert.match(lastTwo, /udp\/10\.0\.0\.1:53 +100\.0 % +nobody moves: all are tried while all are down/);
});
