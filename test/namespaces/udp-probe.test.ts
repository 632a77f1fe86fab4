/** Probes over UDP between two machines: what loopback hides, such as the rate limit of ICMP errors. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/backend.ts';
import { connectNamespaces, makeNamespace, type Namespace, unlessNamespaces } from '../support/namespace.ts';
import { temporaryFolder } from '../support/program.ts';

const HOLDFAST = fileURLToPath(new URL('../../bin/holdfast.js', import.meta.url));
const OPTIONS = { timeout: 120_000, skip: await unlessNamespaces('ping', 'nft') };
const NEAR = '10.98.7.1';
const FAR = '10.98.7.2';
const PORT = 9999;

/** Says nothing, on all addresses. */
const SILENT = `
  require('node:dgram').createSocket('udp4').bind(${PORT}, () => console.log('listening'));
`;

/** Fifty datagrams a second, each from a port of its own, as clients of a balancer do. */
const FLOOD = `
  setInterval(() => {
    const socket = require('node:dgram').createSocket('udp4');
    socket.on('error', () => {});
    socket.send('x', 5300, '127.0.0.1', () => setTimeout(() => socket.close(), 100));
  }, 20);
  console.log('flooding');
`;

const STATES = `
  fetch('http://localhost:2019/upstreams').then((answer) => answer.json()).then(([{ state, endpoints }]) => {
    const { reason, results } = endpoints[0].checks[0];
    console.log(JSON.stringify({ state, reason, results: results.map((one) => one.reason) }));
  });
`;

async function makePair(t: TestContext, label: string): Promise<{ near: Namespace; far: Namespace }> {
  const near = await makeNamespace(t, `${label}-a`);
  const far = await makeNamespace(t, `${label}-b`);
  await connectNamespaces({ namespace: near, address: NEAR }, { namespace: far, address: FAR });
  return { near, far };
}

async function listenSilently(far: Namespace): Promise<void> {
  const server = far.start(process.execPath, '-e', SILENT);
  await eventually(() => server.output().includes('listening'), 'the silent server', 30_000);
}

interface Checked {
  readonly outcome: string;
  readonly reason: string;
  readonly detail: string;
  readonly local_address: string;
}

async function check(near: Namespace, ...options: readonly string[]): Promise<Checked> {
  const args = ['check', 'udp', `${FAR}:${PORT}`, '--timeout', '1s', ...options, '--json'];
  const { stdout, stderr } = await near.run(process.execPath, HOLDFAST, ...args);
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout);
}

test(
  'a silent open port passes by its echo, a closed one fails, a host without ping needs echo off',
  OPTIONS,
  async (t) => {
    const { near, far } = await makePair(t, 'silent');
    assert.equal((await check(near)).reason, 'PORT_UNREACHABLE');
    await listenSilently(far);
    assert.equal((await check(near)).outcome, 'pass');
    await far.must('nft', 'add table ip t');
    await far.must('nft', 'add chain ip t in { type filter hook input priority 0 ; }');
    await far.must('nft', 'add rule ip t in icmp type echo-request drop');
    assert.equal((await check(near)).reason, 'NO_ECHO');
    assert.equal((await check(near, '--echo', 'off')).outcome, 'pass');
  },
);

test('an answer that a firewall drops is missed, and the address that asked is named', OPTIONS, async (t) => {
  const { near, far } = await makePair(t, 'lost');
  await listenSilently(far);
  const { reason, detail, local_address: local } = await check(near, '--send', 'hello', '--expect', 'hi');
  assert.equal(reason, 'RECV_RESPONSE_TIMEOUT');
  assert.match(detail, /^no answer to what was sent from 10\.98\.7\.1 within 1000 ms$/);
  assert.ok(local.startsWith(`${NEAR}:`), local);
});

test('a host that is gone fails by its echo', OPTIONS, async (t) => {
  const { near, far } = await makePair(t, 'gone');
  await listenSilently(far);
  await far.must('ip', 'link', 'set', 'eth0', 'down');
  const { outcome, reason } = await check(near);
  assert.equal(outcome, 'fail');
  assert.ok(['NO_ECHO', 'CONNECT_FAILED'].includes(reason), reason);
});

test('a closed port under load stays down, although traffic uses up the ICMP errors', OPTIONS, async (t) => {
  const { near } = await makePair(t, 'load');
  const config = join(await temporaryFolder(t), 'Caddyfile');
  const proxy = `proxy udp/${FAR}:${PORT} {\nhealth udp {\ninterval 300ms\ntimeout 250ms\n}\n}`;
  await writeFile(config, `{\nlayer4 {\nudp/127.0.0.1:5300 {\nroute {\n${proxy}\n}\n}\n}\n}\n`);
  near.start(process.execPath, HOLDFAST, 'run', '--config', config, '--workers', '1');
  const look = async (): Promise<{ state: string; reason: string; results: readonly string[] }> => {
    const { stdout } = await near.run(process.execPath, '-e', STATES);
    return JSON.parse(stdout === '' ? '{"state":"","reason":"","results":[]}' : stdout);
  };
  await eventually(async () => (await look()).state === 'down', 'the closed port to be seen', 60_000);
  const flood = near.start(process.execPath, '-e', FLOOD);
  await eventually(() => flood.output().includes('flooding'), 'the load', 30_000);
  // By the last 32 results there is no more than one in a row that passed.
  await new Promise((resolve) => setTimeout(resolve, 32 * 300));
  const { state, results } = await look();
  assert.equal(state, 'down');
  // What this machine had no time for is no result.
  const judged = results.filter((reason) => reason !== 'LOCAL_TROUBLE');
  assert.ok(judged.length >= 10, String(judged.length));
  assert.deepEqual(new Set(judged), new Set(['PORT_UNREACHABLE']));
});
