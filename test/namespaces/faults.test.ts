/** A balancer and its servers on machines of their own: what goes wrong between them, and which probe sees it. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/backend.ts';
import { type Namespace, unlessNamespaces } from '../support/namespace.ts';
import { filter, makeFilter, makeNetwork } from '../support/network.ts';
import { startNode } from '../support/node-in-namespace.ts';
import type { Program } from '../support/program.ts';

const OPTIONS = { timeout: 180_000, skip: await unlessNamespaces('nft') };
const GREETER = fileURLToPath(new URL('./programs/greeter.ts', import.meta.url));
const NEAR = '10.97.0.1';
const FAR = '10.97.0.2';
const PORT = 7000;

interface World {
  readonly near: Namespace;
  readonly far: Namespace;
  readonly server: Program;
}

/** A machine for the balancer and one with a server. */
async function makeWorld(t: TestContext, label: string): Promise<World> {
  const network = await makeNetwork(t, label);
  const near = await network.join('a', NEAR);
  const far = await network.join('b', FAR);
  const server = far.start(process.execPath, GREETER, String(PORT), 'far');
  await eventually(() => server.output().includes('listening'), 'the server', 30_000);
  return { near, far, server };
}

/** One layer-4 server for each check, all in front of the same server. */
function caddyfile(...checks: readonly string[]): string {
  const servers = checks.map((check, at) => {
    // Different texts for one server, so that each of them is an upstream that can be told apart.
    const proxy = `proxy ${FAR}:${PORT} {\nhealth tcp {\ninterval 250ms\ntimeout 750ms\nrise 2\nfall 2\n${check}\n}\n}`;
    return `:${8000 + at} {\nroute {\n${proxy}\n}\n}\n`;
  });
  return `{\nlayer4 {\n${servers.join('')}}\n}\n`;
}

test(
  'a silent drop, a refusal by a filter and a host that is gone take the server down, and it comes back',
  OPTIONS,
  async (t) => {
    const { near, far } = await makeWorld(t, 'faults');
    await makeFilter(far);
    const node = await startNode(t, near, caddyfile(''));
    await node.until(`:${PORT}`, 'up');
    const faults: readonly (readonly [words: RegExp, ...rules: readonly string[]])[] = [
      [/^CONNECT_TIMEOUT$/, `tcp dport ${PORT} drop`],
      [/^CONNECT_FAILED$/, `tcp dport ${PORT} reject with icmp type admin-prohibited`],
      [/^CONNECT_FAILED$/, `tcp dport ${PORT} reject with icmp type host-prohibited`],
      [/^CONNECT_FAILED$/, `tcp dport ${PORT} reject with tcp reset`],
    ];
    for (const [words, ...rules] of faults) {
      await filter(far, ...rules);
      const { why, endpoints } = await node.until(`:${PORT}`, 'down');
      const [check] = endpoints[0]!.checks;
      assert.match(check!.reason, words, rules.join());
      if (check!.reason === 'CONNECT_TIMEOUT') {
        const { local_address: local } = check!.results.findLast(({ outcome }) => outcome === 'fail')!;
        assert.ok(local.startsWith(`${NEAR}:`), `the address to let in is shown: ${local}`);
        assert.match(why, /no connection from 10\.97\.0\.1 within 750 ms/);
      }
      await filter(far);
      await node.until(`:${PORT}`, 'up');
    }
    await far.must('ip', 'link', 'set', 'eth0', 'down');
    const { endpoints } = await node.until(`:${PORT}`, 'down');
    assert.match(endpoints[0]!.checks[0]!.reason, /^CONNECT_(TIMEOUT|FAILED)$/);
    await far.must('ip', 'link', 'set', 'eth0', 'up');
    await node.until(`:${PORT}`, 'up');
  },
);

test(
  'a stopped process passes a probe that only connects, and fails one that expects an answer',
  OPTIONS,
  async (t) => {
    const { near, server } = await makeWorld(t, 'stop');
    const node = await startNode(t, near, caddyfile('', 'send "PING\\r\\n"\nexpect PONG'));
    // A pool of its own for each: the one that expects is told by the name of its check.
    const states = async (): Promise<Record<string, string>> => {
      const seen = await node.upstreams();
      return Object.fromEntries(seen.map(({ state, endpoints }) => [endpoints[0]!.checks[0]!.name, state]));
    };
    const become = (expected: string): Promise<void> =>
      eventually(
        async () =>
          Object.entries(await states()).some(([name, state]) => name.includes('script') && state === expected),
        `the check that expects to say ${expected}`,
        60_000,
      );
    await become('up');
    server.child.kill('SIGSTOP');
    try {
      await become('down');
      const now = await states();
      assert.equal(Object.entries(now).find(([name]) => !name.includes('script'))![1], 'up', JSON.stringify(now));
      const [hung] = (await node.upstreams()).filter(({ state }) => state === 'down');
      assert.equal(hung!.endpoints[0]!.checks[0]!.reason, 'RECV_RESPONSE_TIMEOUT');
    } finally {
      // Stopped it could not end with the test.
      server.child.kill('SIGCONT');
    }
    await become('up');
  },
);

test('a server sees ECONNRESET right after accept, and with close fin a clean end', OPTIONS, async (t) => {
  const { near, server } = await makeWorld(t, 'ends');
  const ends = (): readonly string[] =>
    server
      .output()
      .split('\n')
      .filter((line) => line.endsWith(NEAR))
      .map((line) => line.split(' ')[0]!);
  const reset = await startNode(t, near, caddyfile(''));
  await eventually(() => ends().length >= 4, 'connections to end', 60_000);
  assert.deepEqual(new Set(ends()), new Set(['ECONNRESET']));
  await reset.program.end('SIGKILL');
  const before = ends().length;
  await startNode(t, near, caddyfile('close fin'));
  await eventually(() => ends().length >= before + 4, 'connections to end', 60_000);
  assert.deepEqual(new Set(ends().slice(before)), new Set(['FIN']));
});
