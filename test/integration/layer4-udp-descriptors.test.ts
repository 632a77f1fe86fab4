/** Sessions when file descriptors are few. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/backend.ts';
import { findProgram, runProgram, unlessInstalled } from '../support/program.ts';
import { startRun } from '../support/run-process.ts';
import { udpPeer, udpServer } from '../support/udp-peer.ts';
import { udpProxy, udpServerBlock } from '../support/udp-site.ts';

const PRLIMIT = findProgram('prlimit');
const OPTIONS = { timeout: 60_000, skip: unlessInstalled(PRLIMIT, 'prlimit') };
/** More than the process has open by itself, and fewer than the clients. */
const FEW = 150;
const ENOUGH = 400;
const AT_ONCE = 25;

test('without descriptors a new session takes the place of another, and a reload caps them', OPTIONS, async (t) => {
  const server = await udpServer(t, 's');
  const site = (options: string): string =>
    `{\n admin 127.0.0.1:0\n auto_https off\n${udpServerBlock(udpProxy([server.port]), options)}}\n`;
  const run = await startRun(t, site('max_sessions 1000'));
  // The soft limit only: the hard one could not be raised again by everybody.
  const limit = async (descriptors: number): Promise<void> => {
    await runProgram(PRLIMIT!, ['--pid', String(run.child.pid), `--nofile=${descriptors}:`]);
  };
  await limit(FEW);
  const clients = await Promise.all(Array.from({ length: 2 * FEW }, () => udpPeer(t)));
  for (let first = 0; first < clients.length; first += AT_ONCE) {
    const some = clients.slice(first, first + AT_ONCE);
    await Promise.all(some.map((client) => client.askUntil('x', run.port, (text) => text === 's:x')));
  }
  assert.doesNotMatch(run.stderr(), /max_sessions/);
  await limit(ENOUGH);
  const loaded = await fetch(`http://${run.admin}/load`, {
    method: 'POST',
    headers: { 'Content-Type': 'text/caddyfile' },
    body: site('max_sessions 1000\nidle_timeout 30s'),
  });
  assert.equal(loaded.status, 200, await loaded.text());
  const warning = `max_sessions 1000 is more than file descriptors allow, ${ENOUGH / 2} is used`;
  await eventually(() => run.stderr().includes(warning), 'the warning');
  assert.equal(await clients[0]!.askUntil('y', run.port, () => true), 's:y');
});
