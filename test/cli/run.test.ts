import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { runHoldfast, spawnHoldfast } from './spawn.ts';

interface Running {
  readonly child: ChildProcess;
  readonly site: string;
  readonly admin: string;
  readonly folder: string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
  /** Resolves when a log line has that text. */
  logged(text: string): Promise<unknown>;
}

function caddyfile(backendPort: number, text = 'one'): string {
  return `{
	admin 127.0.0.1:0
	grace_period 20s
}
http://:0 {
	bind 127.0.0.1
	respond /text ${text}
	reverse_proxy 127.0.0.1:${backendPort}
}
`;
}

/** A backend that says hello, and on /never answers nothing. */
async function startBackend(t: TestContext): Promise<number> {
  const server = createServer((request, response) => {
    if (request.url !== '/never') response.end('hello\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function startRun(t: TestContext, backendPort: number, args: readonly string[] = []): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-run-'));
  await writeFile(join(folder, 'Caddyfile'), caddyfile(backendPort));
  const child = spawnHoldfast(['run', '--workers', '1', ...args], { cwd: folder, env: { XDG_DATA_HOME: folder } });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true });
  });
  const records: Record<string, unknown>[] = [];
  const waiting: (() => void)[] = [];
  createInterface({ input: child.stderr! }).on('line', (line) => {
    records.push(line.startsWith('{') ? JSON.parse(line) : { msg: line });
    for (const wake of waiting.splice(0)) wake();
  });
  const logged = async (text: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const found = records.find(({ msg }) => String(msg).includes(text));
      if (found !== undefined) return found;
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`it ended without saying '${text}': ${JSON.stringify(records)}`);
      await Promise.race([new Promise<void>((resolve) => waiting.push(resolve)), ended]);
    }
  };
  const { listeners } = await logged('serving');
  const { address } = await logged('admin endpoint started');
  return { child, site: `http://${(listeners as string[])[0]}`, admin: String(address), folder, ended, logged };
}

const TIMEOUT = { timeout: 60_000 };

test('run serves, reloads through the admin API, and ends with 0 on SIGTERM', TIMEOUT, async (t) => {
  const backendPort = await startBackend(t);
  const { child, site, admin, folder, ended } = await startRun(t, backendPort);
  assert.equal(await (await fetch(`${site}/`)).text(), 'hello\n');
  await writeFile(join(folder, 'Caddyfile'), caddyfile(backendPort, 'two'));
  const reload = await runHoldfast(['reload', '--address', admin], { cwd: folder });
  assert.equal(reload.code, 0, reload.stderr);
  assert.equal(reload.stdout, 'reloaded\n  ~ site path /text\n');
  assert.equal(await (await fetch(`${site}/text`)).text(), 'two');
  const again = await runHoldfast(['reload', '--address', admin], { cwd: folder });
  assert.equal(again.stdout, 'nothing changed\n');
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
});

test('reload tells each warning once, with its line', TIMEOUT, async (t) => {
  const backendPort = await startBackend(t);
  const { admin, folder } = await startRun(t, backendPort);
  const sticky = caddyfile(backendPort).replace(/(reverse_proxy .*)/, '$1 {\n\t\tlb_policy cookie\n\t}');
  await writeFile(join(folder, 'Caddyfile'), sticky);
  const { code, stderr } = await runHoldfast(['reload', '--address', admin], { cwd: folder });
  assert.equal(code, 0, stderr);
  assert.equal(stderr.match(/^warning: Caddyfile:9: lb_policy: cookie lb has no secret/gm)?.length, 1, stderr);
  assert.doesNotMatch(stderr, /apps\.http/);
});

test('run writes warnings about the config as log lines', TIMEOUT, async (t) => {
  const backendPort = await startBackend(t);
  const { folder, logged } = await startRun(t, backendPort, ['--watch']);
  await writeFile(join(folder, 'Caddyfile'), caddyfile(backendPort, '{$UNSET_BY_NOBODY}text'));
  const warned = (await logged('the environment has no UNSET_BY_NOBODY')) as Record<string, unknown>;
  assert.deepEqual([warned['level'], warned['event']], ['warn', 'config-warning']);
  assert.match(String(warned['msg']), /^Caddyfile:7: \{\$UNSET_BY_NOBODY\}: /);
});

test('SIGHUP without a terminal is told and ends nothing', TIMEOUT, async (t) => {
  const { child, site, ended, logged } = await startRun(t, await startBackend(t));
  child.kill('SIGHUP');
  await logged('SIGHUP is ignored: use holdfast reload');
  assert.equal(await (await fetch(`${site}/`)).text(), 'hello\n');
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
});

test('stop ends a running balancer with 0', TIMEOUT, async (t) => {
  const { admin, ended } = await startRun(t, await startBackend(t));
  const stop = await runHoldfast(['stop', '--address', admin]);
  assert.equal(stop.code, 0, stop.stderr);
  assert.equal(await ended, 0);
});

test('a second signal does not wait for running requests', TIMEOUT, async (t) => {
  const { child, site, ended, logged } = await startRun(t, await startBackend(t));
  const hanging = fetch(`${site}/never`).catch(() => 'cut');
  await fetch(`${site}/`);
  child.kill('SIGINT');
  await logged('finishing running work');
  child.kill('SIGTERM');
  assert.equal(await ended, 1);
  assert.equal(await hanging, 'cut');
});

test('--watch reloads when the file changes, and keeps the old config when it is bad', TIMEOUT, async (t) => {
  const backendPort = await startBackend(t);
  const { site, folder, logged } = await startRun(t, backendPort, ['--watch']);
  await writeFile(join(folder, 'Caddyfile'), 'http://:0 {\n\tno_such_thing\n}\n');
  await logged('it was not loaded');
  assert.equal(await (await fetch(`${site}/text`)).text(), 'one');
  await writeFile(join(folder, 'Caddyfile'), caddyfile(backendPort, 'two'));
  await logged('config file changed: reloaded');
  assert.equal(await (await fetch(`${site}/text`)).text(), 'two');
});

test('the admin API is not reachable through the public listener', TIMEOUT, async (t) => {
  const { site } = await startRun(t, await startBackend(t));
  for (const path of ['/config/', '/metrics', '/reverse_proxy/upstreams', '/health/ready']) {
    assert.equal(await (await fetch(site + path)).text(), 'hello\n', path);
  }
});
