import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, test, type TestContext } from 'node:test';
import { acmeConfig, dataFolder, shownCertificate, startAcme } from '../support/acme-site.ts';
import { startBalancer } from '../support/balance.ts';
import { skipPebble, startPebble } from '../support/pebble.ts';

const SITES = 'https:// {\n\ttls {\n\t\ton_demand\n\t}\n\trespond ok\n}\n';

interface Gatekeeper {
  readonly url: string;
  /** Names it was asked about. */
  readonly asked: readonly string[];
}

/** Says yes to names below `wanted.example.com`. */
async function startGatekeeper(t: TestContext): Promise<Gatekeeper> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? '', 'http://ask').searchParams.get('domain') ?? '';
    asked.push(name);
    response.statusCode = name.endsWith('.wanted.example.com') ? 200 : 404;
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/check`, asked };
}

describe('certificates on demand (pebble)', { skip: skipPebble }, () => {
  test('clients that ask for a new name wait for one order, and it is asked about once', async (t) => {
    const pebble = await startPebble(t);
    const { url, asked } = await startGatekeeper(t);
    const globals = `\ton_demand_tls {\n\t\task ${url}\n\t}`;
    await startAcme(t, acmeConfig(pebble, { globals, sites: SITES }));
    const name = 'one.wanted.example.com';
    const shown = await Promise.all(Array.from({ length: 5 }, () => shownCertificate(pebble.tlsPort, name)));
    assert.deepEqual(new Set(shown.map((certificate) => certificate?.subjectaltname)), new Set([`DNS:${name}`]));
    assert.equal(new Set(shown.map((certificate) => certificate?.serialNumber)).size, 1);
    assert.equal((await shownCertificate(pebble.tlsPort, name))?.serialNumber, shown[0]?.serialNumber);
    // Once for the client and once for the order.
    assert.ok(asked.length <= 2, asked.join());
  });

  test('a name that the ask endpoint refuses, and none at all, get no certificate', async (t) => {
    const pebble = await startPebble(t);
    const { url, asked } = await startGatekeeper(t);
    const globals = `\ton_demand_tls {\n\t\task ${url}\n\t}`;
    await startAcme(t, acmeConfig(pebble, { globals, sites: SITES }));
    assert.equal(await shownCertificate(pebble.tlsPort, 'evil.example.com'), null);
    assert.equal(await shownCertificate(pebble.tlsPort, 'evil.example.com'), null);
    assert.equal(await shownCertificate(pebble.tlsPort, ''), null);
    assert.deepEqual(asked, ['evil.example.com']);
  });
});

test('on_demand with a public authority and nobody to ask is refused with the place', async (t) => {
  await assert.rejects(
    startBalancer(t, `{\n\tadmin off\n}\n${SITES}`),
    /on_demand needs somebody who says which names are wanted.* at Caddyfile:\d+|Caddyfile:\d+.*on_demand needs somebody/s,
  );
});

test('the authority of our own issues on demand, with nobody to ask', async (t) => {
  const config =
    '{\n\tadmin off\n\tauto_https disable_redirects\n}\nhttps://:0 {\n\tbind 127.0.0.1\n\ttls internal {\n\t\ton_demand\n\t}\n\trespond ok\n}\n';
  const { port } = await startBalancer(t, config, { dataDir: dataFolder(t) });
  for (const name of ['a.test', 'b.test', 'a.test']) {
    assert.equal((await shownCertificate(port, name))?.subjectaltname, `DNS:${name}`);
  }
});
