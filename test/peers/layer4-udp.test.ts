/** Real servers of datagrams behind a balancer. */
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import {
  findProgram,
  freePort,
  startServer,
  temporaryFolder,
  unlessInstalled,
  type Program,
} from '../support/program.ts';
import { udpProxy, udpSite } from '../support/udp-site.ts';

const KNOT = findProgram('knotd');
const OPTIONS = { timeout: 60_000, skip: unlessInstalled(KNOT, 'knotd (package knot)') };

interface NameServer {
  readonly port: number;
  readonly program: Program;
}

/** Serves example.test; the TXT record of `who` says which server it is, `long` fills many datagrams. */
async function startKnot(t: TestContext, name: string): Promise<NameServer> {
  const folder = await temporaryFolder(t);
  const port = await freePort();
  const long = Array.from({ length: 60 }, (_, index) => `long TXT "${String(index).padStart(200, 'x')}"`).join('\n');
  await writeFile(
    join(folder, 'example.test.zone'),
    `$ORIGIN example.test.\n$TTL 60\n@ SOA ns hostmaster 1 60 60 60 60\n@ NS ns\nns A 127.0.0.1\nwho TXT "${name}"\n${long}\n`,
  );
  const config = join(folder, 'knot.conf');
  await writeFile(
    config,
    `server:
    rundir: "${folder}"
    listen: 127.0.0.1@${port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
    udp-max-payload-ipv4: 4096
database:
    storage: "${folder}/db"
zone:
  - domain: example.test
    storage: "${folder}"
    file: example.test.zone
`,
  );
  const program = await startServer(t, KNOT!, ['-c', config], port);
  return { port, program };
}

function resolverOf(port: number): Resolver {
  const resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers([`127.0.0.1:${port}`]);
  return resolver;
}

async function who(resolver: Resolver): Promise<string> {
  const records = await resolver.resolveTxt('who.example.test').catch(() => []);
  return records.flat().join('');
}

test('questions to a name server are answered, by the next one when the first is gone', OPTIONS, async (t) => {
  const [first, second] = [await startKnot(t, 'first'), await startKnot(t, 'second')];
  const proxy = udpProxy([first.port, second.port], 'lb_policy first\nfail_duration 30s');
  const { port } = await startBalancer(t, udpSite(proxy, 'responses 1'));
  const resolver = resolverOf(port);
  for (let round = 0; round < 20; round += 1) assert.equal(await who(resolver), 'first');
  await first.program.end('SIGTERM');
  await eventually(async () => (await who(resolver)) === 'second', 'the second server to answer');
  for (let round = 0; round < 20; round += 1) assert.equal(await who(resolver), 'second');
});

test('many questions at once are all answered', OPTIONS, async (t) => {
  const server = await startKnot(t, 'only');
  const { port } = await startBalancer(t, udpSite(udpProxy([server.port]), 'responses 1'), { workers: 2 });
  const answers = await Promise.all(Array.from({ length: 200 }, () => who(resolverOf(port))));
  assert.deepEqual(new Set(answers), new Set(['only']));
});
