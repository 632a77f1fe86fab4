/** The files of examples/cluster on two machines: keepalived moves the shared addresses by what Holdfast says of itself. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/backend.ts';
import { type Namespace, unlessNamespaces } from '../support/namespace.ts';
import { makeNetwork } from '../support/network.ts';
import { type BalancerNode, startNode } from '../support/node-in-namespace.ts';
import { findProgram, temporaryFolder } from '../support/program.ts';

const OPTIONS = { timeout: 240_000, skip: await unlessNamespaces('keepalived', 'curl') };
const FOLDER = fileURLToPath(new URL('../../examples/cluster/', import.meta.url));
const WEB = fileURLToPath(new URL('./programs/web.ts', import.meta.url));
const CADDYFILE = readFileSync(`${FOLDER}Caddyfile`, 'utf8');
const SECRET = 'a-secret-that-both-nodes-have-and-nobody-else';
const KEEPALIVED = findProgram('keepalived')!;
const CURL = findProgram('curl')!;
const [FIRST, SECOND] = ['192.0.2.10', '192.0.2.11'] as const;

interface Machine {
  readonly namespace: Namespace;
  readonly name: string;
}

/** keepalived.conf with another script than the one of /etc, where a test installs nothing. */
function keepalivedConfig(script: string): string {
  return readFileSync(`${FOLDER}keepalived.conf`, 'utf8').replaceAll('/etc/keepalived/check-ready', script);
}

async function startKeepalived(t: TestContext, { namespace, name }: Machine): Promise<void> {
  const folder = await temporaryFolder(t);
  const config = join(folder, 'keepalived.conf');
  const options = ['--config-id', name, '--use-file', config, '--log-console'];
  await writeFile(config, keepalivedConfig('/usr/bin/true'));
  const tested = await namespace.run(KEEPALIVED, '--config-test', ...options);
  // Debian's ends by a signal of its own when it has found nothing, and says what it finds.
  assert.ok(tested.code === 0 || tested.code === null, tested.stderr);
  assert.equal(tested.stdout + tested.stderr, '');
  // Its security does not let it run what stands in a folder that others may write to, as a checkout may.
  const insecure = keepalivedConfig(`${FOLDER}check-ready`).replace('enable_script_security', '');
  await writeFile(config, insecure.replace('script_user nobody', 'script_user root'));
  const pids = ['pid', 'vrrp_pid', 'checkers_pid'].map((file) => `--${file}=${join(folder, file)}`);
  namespace.start(KEEPALIVED, '--dont-fork', '--vrrp', ...options, ...pids);
}

async function startMachine(t: TestContext, namespace: Namespace): Promise<BalancerNode> {
  await namespace.must('/bin/sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind');
  return startNode(t, namespace, CADDYFILE, { LB_SECRET: SECRET });
}

function untilHeld({ namespace, name }: Machine, addresses: readonly string[]): Promise<void> {
  return eventually(
    async () => {
      const held = await namespace.must('ip', '-4', '-oneline', 'address', 'show', 'dev', 'eth0');
      return [FIRST, SECOND].every((address) => held.includes(`${address}/`) === addresses.includes(address));
    },
    `${name} to hold ${addresses.join(' and ') || 'none'}`,
    60_000,
  );
}

test(
  'a node that dies gives its address to the other one, clients keep their server, and it takes it back',
  OPTIONS,
  async (t) => {
    const network = await makeNetwork(t, 'cluster');
    const servers = ['192.0.2.21', '192.0.2.22', '192.0.2.23'];
    const web = (await network.join('web', ...servers)).start(process.execPath, WEB, '3000', ...servers);
    const client = await network.join('client', '192.0.2.100');
    const one: Machine = { namespace: await network.join('lb-1', '192.0.2.1'), name: 'lb-1' };
    const two: Machine = { namespace: await network.join('lb-2', '192.0.2.2'), name: 'lb-2' };
    await eventually(() => web.output().includes('listening'), 'the servers', 30_000);
    const [node] = await Promise.all([startMachine(t, one.namespace), startMachine(t, two.namespace)]);
    for (const machine of [one, two]) await startKeepalived(t, machine);
    await untilHeld(one, [FIRST]);
    await untilHeld(two, [SECOND]);

    // The cookies a client got of one node hold at the other.
    const jar = join(await temporaryFolder(t), 'cookies');
    const visit = async (address: string, ...options: readonly string[]): Promise<string> =>
      (await client.run(CURL, '-s', '--max-time', '5', ...options, `http://${address}/`)).stdout.trim();
    const home = await visit(FIRST, '--cookie-jar', jar, '--resolve', `${FIRST}:80:${FIRST}`);
    assert.ok(servers.includes(home), home);
    const cookie = /\tlb\t(\S+)/.exec(readFileSync(jar, 'utf8'))![1]!;
    const withCookie = ['--header', `Cookie: lb=${cookie}`];
    assert.equal(await visit(SECOND, ...withCookie), home);

    await node.program.end('SIGKILL');
    await untilHeld(two, [FIRST, SECOND]);
    await untilHeld(one, []);
    assert.equal(await visit(FIRST, ...withCookie), home);
    assert.equal(await visit(SECOND, ...withCookie), home);

    await startMachine(t, one.namespace);
    await untilHeld(one, [FIRST]);
    await untilHeld(two, [SECOND]);
    assert.equal(await visit(FIRST, ...withCookie), home);
  },
);
