/** Socket activation: `bind fd/3` serves on a listening socket that the parent process opened. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { inheritedPort } from '../../src/control-plane/listeners/inherited.ts';
import { runHoldfast, type Ended } from '../cli/spawn.ts';
import { startBackend } from '../support/backend.ts';
import { openListeningSocket } from '../support/listening-socket.ts';
import { failuresOf, startLoad } from '../support/load.ts';
import { startPlane } from '../support/plane.ts';
import { get } from '../support/raw-client.ts';
import { startRun, type RunProcess } from '../support/run-process.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const ADMIN = '127.0.0.1:0';

async function startInherited(t: TestContext, body: string): Promise<RunProcess> {
  const socket = await openListeningSocket(t);
  const running = await startRun(t, site(body, { admin: ADMIN, bind: 'fd/3' }), ['--workers', '2'], [socket.fd]);
  await socket.release();
  assert.equal(running.port, socket.port);
  return running;
}

async function reload(running: RunProcess, caddyfile: string): Promise<Ended> {
  await running.rewrite(caddyfile);
  return runHoldfast(['reload', '--config', 'Caddyfile', '--address', running.admin], { cwd: running.folder });
}

test('an inherited socket serves, over reloads under load, and ends with the process', OPTIONS, async (t) => {
  const backend = await startBackend(t, 'backend');
  const running = await startInherited(t, proxyTo([backend]));
  assert.equal((await get(running.port)).body, 'backend');
  const load = startLoad(
    running.port,
    Array.from({ length: 8 }, (_, index) => ({ name: `client ${index}` })),
  );
  for (const retries of [1, 2]) {
    const changed = site(proxyTo([backend], `lb_retries ${retries}`), { admin: ADMIN, bind: 'fd/3' });
    const { code, stderr } = await reload(running, changed);
    assert.equal(code, 0, stderr);
    await load.more(10);
  }
  await load.stop();
  assert.deepEqual(failuresOf(load.answers), []);
  running.child.kill('SIGTERM');
  assert.equal(await running.ended, 0);
  await assert.rejects(get(running.port));
});

test('an inherited socket that a config left out is closed, and cannot be had back', OPTIONS, async (t) => {
  const running = await startInherited(t, 'respond inherited');
  const { code, stderr } = await reload(running, site('respond other', { admin: ADMIN }));
  assert.equal(code, 0, stderr);
  await assert.rejects(get(running.port));
  const back = await reload(running, site('respond inherited', { admin: ADMIN, bind: 'fd/3' }));
  assert.equal(back.code, 1);
  assert.match(back.stderr, /cannot listen on fd\/3: the socket is closed, .*, at Caddyfile:6/);
});

test('a reload that fails elsewhere leaves the inherited socket serving', OPTIONS, async (t) => {
  const taken = await openListeningSocket(t);
  const running = await startInherited(t, 'respond inherited');
  const both = `${site('respond changed', { admin: ADMIN, bind: 'fd/3' })}http://127.0.0.1:${taken.port} {\n\tbind 127.0.0.1\n}\n`;
  const failed = await reload(running, both);
  assert.equal(failed.code, 1);
  assert.match(
    failed.stderr,
    new RegExp(`cannot listen on 127\\.0\\.0\\.1:${taken.port}: address already in use.*, at Caddyfile:11`),
  );
  assert.equal((await get(running.port)).body, 'inherited');
});

test('a descriptor that is no listening socket is refused with the line of the site', OPTIONS, async (t) => {
  const refusal = /^cannot listen on fd\/\d+: the descriptor is no listening TCP socket .*, at Caddyfile:6$/;
  const { plane, reload: load } = await startPlane(t, site('respond one'));
  for (const fd of [0, 99_999]) {
    await assert.rejects(load(site('respond two', { bind: `fd/${fd}` })), { name: 'ListenError', message: refusal });
  }
  assert.equal(plane.reloads().failures, 2);
});

test('a socket of this very process is not adopted a second time', OPTIONS, async (t) => {
  const { port, reload: load } = await startPlane(t, site('respond one'));
  const fd = await ownDescriptor(port);
  await assert.rejects(load(site('respond two', { bind: `fd/${fd}` })), {
    message: new RegExp(`^cannot listen on fd/${fd}: it is a socket this process itself has opened for port ${port} `),
  });
  assert.equal((await get(port)).body, 'one');
});

/** The first descriptor of this process that listens on a port. */
async function ownDescriptor(port: number): Promise<number> {
  for (let fd = 3; fd < 256; fd += 1) {
    const found = await inheritedPort({ fd, place: '' }).catch(() => null);
    if (found === port) return fd;
  }
  throw new Error(`no descriptor below 256 listens on port ${port}`);
}
