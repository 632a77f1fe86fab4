/** Three balancers over the same servers, each on a machine of its own: they do not know of each other, and agree. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/backend.ts';
import { type Namespace, unlessNamespaces } from '../support/namespace.ts';
import { filter, makeFilter, makeNetwork } from '../support/network.ts';
import { type BalancerNode, startNode } from '../support/node-in-namespace.ts';
import type { Program } from '../support/program.ts';

const OPTIONS = { timeout: 240_000, skip: await unlessNamespaces('nft') };
const program = (name: string): string => fileURLToPath(new URL(`./programs/${name}.ts`, import.meta.url));
const NODES = ['10.97.1.1', '10.97.1.2', '10.97.1.3'] as const;
const SERVERS = ['10.97.2.1', '10.97.2.2', '10.97.2.3'] as const;
const CLIENTS: readonly string[] = Array.from({ length: 40 }, (_, at) => `10.97.3.${at + 1}`);
const PORT = 7000;
/** Port to policy: each of those that hash a client's address. */
const POLICIES: Readonly<Record<number, string>> = {
  8000: 'ip_hash',
  8001: 'ip_hash {\n mapping rendezvous\n }',
  8002: 'source_hash',
};
const BALANCED = 8000;

function caddyfile(): string {
  const upstreams = SERVERS.map((address) => `${address}:${PORT}`).join(' ');
  const check = 'health tcp {\n interval 500ms\n timeout 1s\n rise 2\n fall 2\n }';
  const servers = Object.entries(POLICIES).map(
    ([port, policy]) => `:${port} {\n route {\n proxy ${upstreams} {\n lb_policy ${policy}\n ${check}\n }\n }\n }\n`,
  );
  return `{\n layer4 {\n ${servers.join('')} }\n }\n`;
}

interface World {
  readonly nodes: readonly BalancerNode[];
  readonly servers: readonly { readonly namespace: Namespace; readonly greeter: Program }[];
  readonly clients: Namespace;
}

async function makeWorld(t: TestContext, label: string): Promise<World> {
  const network = await makeNetwork(t, label);
  const clients = await network.join('clients', ...CLIENTS);
  const servers = await Promise.all(
    SERVERS.map(async (address) => {
      const namespace = await network.join(address, address);
      await makeFilter(namespace);
      const greeter = namespace.start(process.execPath, program('greeter'), String(PORT), address);
      await eventually(() => greeter.output().includes('listening'), 'a server', 30_000);
      return { namespace, greeter };
    }),
  );
  const machines = await Promise.all(NODES.map((address) => network.join(address, address)));
  const nodes = await Promise.all(machines.map((machine) => startNode(t, machine, caddyfile())));
  for (const node of nodes) for (const server of SERVERS) await node.until(`${server}:${PORT}`, 'up');
  return { nodes, servers, clients };
}

/** All nodes give the clients the same homes, by every policy. */
async function assertAgreement(world: World): Promise<void> {
  for (const port of Object.keys(POLICIES).map(Number)) {
    const [first, ...others] = await Promise.all(NODES.map((node) => homesBy(world, node, port)));
    for (const other of others) assert.deepEqual(other, first, POLICIES[port]);
  }
}

/** What every client is given by this node: address of the client to name of the server. */
async function homesBy({ clients }: World, node: string, port = BALANCED): Promise<ReadonlyMap<string, string>> {
  const visit = [program('visitors'), '1', String(port), node, ...CLIENTS];
  return new Map(
    visitsOf(await clients.must(process.execPath, ...visit)).map(({ client, server }) => [client, server]),
  );
}

interface Visit {
  readonly client: string;
  readonly node: string;
  readonly server: string;
}

function visitsOf(output: string): readonly Visit[] {
  const lines = output
    .slice(0, output.lastIndexOf('\n') + 1)
    .trim()
    .split('\n');
  return lines
    .map((line) => line.split(' '))
    .map(([, client = '', node = '', server = '']) => ({ client, node, server }));
}

test('three nodes probe on their own and give every client the same server', OPTIONS, async (t) => {
  const world = await makeWorld(t, 'agree');
  const [first, second, third] = await Promise.all(NODES.map((node) => homesBy(world, node)));
  assert.equal(first!.size, CLIENTS.length);
  assert.equal(new Set(first!.values()).size, SERVERS.length, 'all servers have clients');
  assert.deepEqual(second, first);
  assert.deepEqual(third, first);
  await assertAgreement(world);
  for (const { greeter } of world.servers) {
    const probed = new Set(
      greeter
        .output()
        .split('\n')
        .map((line) => line.split(' ')[1]),
    );
    for (const node of NODES) assert.ok(probed.has(node), `${node} probes by itself`);
  }

  // Hidden from one node, the server is down for that one alone, and only its clients there move.
  const hidden = `${SERVERS[1]}:${PORT}`;
  await filter(world.servers[1]!.namespace, `ip saddr ${NODES[0]} tcp dport ${PORT} drop`);
  await world.nodes[0]!.until(hidden, 'down');
  const moved = await homesBy(world, NODES[0]);
  for (const [client, home] of first!) {
    if (home === SERVERS[1]) assert.notEqual(moved.get(client), home);
    else assert.equal(moved.get(client), home);
  }
  for (const node of world.nodes.slice(1)) await node.until(hidden, 'up');
  assert.deepEqual(await homesBy(world, NODES[2]), first);

  // Gone for all of them, they agree again, on the second homes too.
  await filter(world.servers[1]!.namespace, `tcp dport ${PORT} drop`);
  for (const node of world.nodes) await node.until(hidden, 'down');
  for (const node of NODES) assert.deepEqual(await homesBy(world, node), moved);
  await assertAgreement(world);

  // Back, and everybody is at home.
  await filter(world.servers[1]!.namespace);
  for (const node of world.nodes) await node.until(hidden, 'up');
  for (const node of NODES) assert.deepEqual(await homesBy(world, node), first);
});

test('a node is taken away under load: clients that ask another one stay on their server', OPTIONS, async (t) => {
  const world = await makeWorld(t, 'leave');
  const load = world.clients.start(
    process.execPath,
    program('visitors'),
    '0',
    String(BALANCED),
    NODES.join(),
    ...CLIENTS,
  );
  const through = (nodes: readonly string[]): boolean => {
    const seen = visitsOf(load.output()).filter(({ node }) => nodes.includes(node));
    return CLIENTS.every((address) => seen.filter(({ client }) => client === address).length >= 3);
  };
  await eventually(() => through([NODES[0]]), 'all clients to be served by the first node', 60_000);
  await world.nodes[0]!.namespace.must('ip', 'link', 'set', 'eth0', 'down');
  await eventually(() => through(NODES.slice(1)), 'all clients to be served by another node', 60_000);
  await load.end();
  const homes = new Map<string, Set<string>>();
  for (const { client, server } of visitsOf(load.output())) {
    homes.set(client, (homes.get(client) ?? new Set()).add(server));
  }
  assert.equal(homes.size, CLIENTS.length);
  for (const [client, servers] of homes) assert.equal(servers.size, 1, `${client} was on ${[...servers].join()}`);
  for (const node of world.nodes.slice(1)) {
    for (const { state } of await node.upstreams()) assert.equal(state, 'up', 'the others are not concerned');
  }
});
