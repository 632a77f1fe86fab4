/** What each of the two ways to probe a UDP service sees, as the table of the reference says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/backend.ts';
import { unlessNamespaces } from '../support/namespace.ts';
import { filter, makeFilter, makeNetwork } from '../support/network.ts';
import { type SeenUpstream, startNode } from '../support/node-in-namespace.ts';

const OPTIONS = { timeout: 240_000, skip: await unlessNamespaces('nft', 'ping') };
const ANSWERER = fileURLToPath(new URL('./programs/answerer.ts', import.meta.url));
const [NEAR, FAR, PORT] = ['10.96.0.1', '10.96.0.2', 9000] as const;
const INTERVAL_MS = 500;

/** The same service under both probes, each in a pool of its own. */
const CHECKS: readonly string[] = ['', 'send hello\nexpect hi'];

function caddyfile(): string {
  const servers = CHECKS.map((check, at) => {
    const options = `interval ${INTERVAL_MS}ms\ntimeout 600ms\nrise 2\nfall 2\n${check}`;
    return `udp/:${5300 + at} {\nroute {\nproxy udp/${FAR}:${PORT} {\nhealth udp {\n${options}\n}\n}\n}\n}\n`;
  });
  return `{\nlayer4 {\n${servers.join('')}}\n}\n`;
}

/** State and reason by `udp` and by `udp with answer`. */
function judged(upstreams: readonly SeenUpstream[]): readonly [silent: string, asking: string] {
  const of = (kind: string): string => {
    const found = upstreams.find(({ endpoints }) => endpoints[0]!.checks[0]!.name.startsWith(kind))!;
    return found.state === 'up' ? 'up' : `${found.state} ${found.endpoints[0]!.checks[0]!.reason}`;
  };
  return [of('udp every'), of('udp with answer every')];
}

test('a silent drop, a stopped process, a filter, a host without ping, a closed port', OPTIONS, async (t) => {
  const network = await makeNetwork(t, 'udp');
  const near = await network.join('a', NEAR);
  const far = await network.join('b', FAR);
  await makeFilter(far);
  const server = far.start(process.execPath, ANSWERER, String(PORT));
  await eventually(() => server.output().includes('listening'), 'the service', 30_000);
  const node = await startNode(t, near, caddyfile());
  const become = async (what: string, silent: string, ...asking: readonly string[]): Promise<void> => {
    let seen: readonly [string, string] = ['', ''];
    const holds = async (): Promise<boolean> => {
      seen = judged(await node.upstreams());
      return seen[0] === silent && asking.includes(seen[1]);
    };
    await eventually(holds, what, 60_000).catch((error: Error) => {
      throw new Error(`${error.message}; it is ${seen.join(' and ')}`);
    });
    // It stays so: what one of them does not see it does not see later either.
    await new Promise((resolve) => setTimeout(resolve, 4 * INTERVAL_MS));
    assert.ok(await holds(), `${what}: it is ${seen.join(' and ')}`);
  };
  await become('both to pass', 'up', 'up');

  await filter(far, `udp dport ${PORT} drop`);
  await become('a drop', 'up', 'down RECV_RESPONSE_TIMEOUT');
  await filter(far);
  await become('both to pass', 'up', 'up');

  server.child.kill('SIGSTOP');
  try {
    await become('a stopped process', 'up', 'down RECV_RESPONSE_TIMEOUT');
  } finally {
    // Stopped it could not end with the test.
    server.child.kill('SIGCONT');
  }
  await become('both to pass', 'up', 'up');

  await filter(far, 'icmp type echo-request drop');
  await become('a host without ping', 'down NO_ECHO', 'up');
  await filter(far);
  await become('both to pass', 'up', 'up');

  await server.end('SIGKILL');
  // The host says so about once a second, to both together: one that expects an answer is left with none.
  await become('a closed port', 'down PORT_UNREACHABLE', 'down PORT_UNREACHABLE', 'down RECV_RESPONSE_TIMEOUT');
});

test('a filter that says no is no silence', OPTIONS, async (t) => {
  const network = await makeNetwork(t, 'prohibited');
  const near = await network.join('a', NEAR);
  const far = await network.join('b', FAR);
  await makeFilter(far);
  const server = far.start(process.execPath, ANSWERER, String(PORT));
  await eventually(() => server.output().includes('listening'), 'the service', 30_000);
  await filter(far, `udp dport ${PORT} reject with icmp type admin-prohibited`);
  const node = await startNode(t, near, caddyfile());
  await eventually(
    async () => judged(await node.upstreams()).every((one) => one === 'down CONNECT_FAILED'),
    'both to say that there is no way',
    60_000,
  );
  await filter(far);
  await eventually(async () => judged(await node.upstreams()).every((one) => one === 'up'), 'both to pass', 60_000);
});
