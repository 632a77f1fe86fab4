/** The admin API on a socket of the file system. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { runInProcess } from '../cli/in-process.ts';
import { startBalancer } from '../support/balance.ts';
import { get } from '../support/raw-client.ts';
import { site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-socket-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function config(path: string, body: string, mode = ''): string {
  return site(`respond ${body}`, { admin: `unix/${path}${mode}` });
}

async function ask(
  socketPath: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  const message = request({ socketPath, path, headers, agent: false });
  message.end();
  const [response] = (await once(message, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: await readText(response) };
}

test('only its owner may use the socket, or whom the mode names', OPTIONS, async (t) => {
  const path = join(await folderFor(t), 'admin.sock');
  const balancer = await startBalancer(t, config(path, 'one'));
  assert.deepEqual(balancer.adminAddress(), { host: `unix/${path}`, port: 0 });
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await balancer.reload(config(path, 'two', '|0660'));
  assert.equal((await stat(path)).mode & 0o777, 0o660);
  assert.equal((await ask(path, '/health/live', { Host: 'localhost' })).status, 200);
  await balancer.stop();
  await assert.rejects(stat(path), /ENOENT/);
});

test('the rules about Host and Origin hold there too', OPTIONS, async (t) => {
  const path = join(await folderFor(t), 'admin.sock');
  await startBalancer(t, config(path, 'one'));
  const status = async (headers: Record<string, string>): Promise<number> =>
    (await ask(path, '/config', headers)).status;
  assert.equal(await status({ Host: 'localhost' }), 200);
  assert.equal(await status({ Host: 'localhost:2019' }), 200);
  assert.equal(await status({ Host: '127.0.0.1' }), 200);
  assert.equal(await status({ Host: 'localhost', Origin: 'http://localhost' }), 200);
  assert.equal(await status({ Host: 'evil.example' }), 403);
  assert.equal(await status({ Host: 'localhost', Origin: 'http://evil.example' }), 403);
  assert.equal(await status({ Host: 'evil.example', Origin: 'http://evil.example' }), 403);
  assert.equal(await status({ Host: 'localhost', 'Sec-Fetch-Site': 'cross-site' }), 403);
});

test(
  'a socket that a dead process left behind is replaced, one in use and another file are not',
  OPTIONS,
  async (t) => {
    const folder = await folderFor(t);
    const path = join(folder, 'admin.sock');
    const first = await startBalancer(t, config(path, 'one'));
    await assert.rejects(
      startBalancer(t, config(path, 'two')),
      /cannot open the admin endpoint on unix\/.*address already in use/,
    );
    assert.equal((await ask(path, '/health/live', { Host: 'localhost' })).status, 200);
    await first.stop();

    const left = join(folder, 'left.sock');
    await leaveBehind(left);
    await startBalancer(t, config(left, 'three'));
    assert.equal((await ask(left, '/health/live', { Host: 'localhost' })).status, 200);

    const file = join(folder, 'notes.txt');
    await writeFile(file, 'mine');
    await assert.rejects(startBalancer(t, config(file, 'four')), /there is a file of this name that is no socket/);
    assert.equal((await stat(file)).isFile(), true);
  },
);

/** A listening socket whose file outlives it, as after SIGKILL. */
async function leaveBehind(path: string): Promise<void> {
  const server = createServer().listen(`${path}.real`);
  await once(server, 'listening');
  const { rename } = await import('node:fs/promises');
  // Closing removes the name it was bound to, not the one it has by then.
  await rename(`${path}.real`, path);
  server.close();
  await once(server, 'close');
  assert.equal((await stat(path)).isSocket(), true);
}

test('reload and stop reach the socket, by the config or by --address', OPTIONS, async (t) => {
  const folder = await folderFor(t);
  const path = join(folder, 'admin.sock');
  const balancer = await startBalancer(t, config(path, 'one'));
  const file = join(folder, 'Caddyfile');
  await writeFile(file, config(path, 'two', '|0600'));
  const reloaded = await runInProcess(['reload', '--config', file]);
  assert.equal(reloaded.code, 0, reloaded.stderr);
  assert.match(reloaded.stdout, /^reloaded\n {2}~ site always\n/);
  assert.equal((await get(balancer.port)).body, 'two');
  const stopped = await runInProcess(['stop', '--address', `unix/${path}`]);
  assert.equal(stopped.code, 0, stopped.stderr);
  await balancer.stopped();
  const gone = await runInProcess(['stop', '--address', `unix/${path}`]);
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /no admin API at unix\/.*ENOENT/);
});
