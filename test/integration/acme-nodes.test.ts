import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { acmeConfig, dataFolder, startAcme, waitForCertificate } from '../support/acme-site.ts';
import { skipPebble, startPebble } from '../support/pebble.ts';
import { freePort } from '../support/program.ts';

const NAME = 'shop.example.com';

describe('nodes that share a storage (pebble)', { skip: skipPebble }, () => {
  test('have one certificate between them, whichever of them the authority looks at', async (t) => {
    const pebble = await startPebble(t);
    const storage = dataFolder(t);
    const globals = `\tstorage file_system ${storage}`;
    const [otherHttp, otherTls] = [await freePort(), await freePort()];
    const other = acmeConfig({ ...pebble, httpPort: otherHttp, tlsPort: otherTls }, { globals });
    // The authority looks at the ports of the first node only: the second one has its answers given by it.
    await startAcme(t, other);
    await startAcme(t, acmeConfig(pebble, { globals }));
    const here = await waitForCertificate(pebble.tlsPort, NAME);
    const there = await waitForCertificate(otherTls, NAME);
    assert.equal(here.serialNumber, there.serialNumber);
  });

  for (const [challenge, disabled] of [
    ['HTTP-01', ''],
    ['TLS-ALPN-01', '\t\tdisable_http_challenge\n'],
  ] as const) {
    test(`answer ${challenge} for each other`, async (t) => {
      const pebble = await startPebble(t);
      const globals = `\tstorage file_system ${dataFolder(t)}`;
      const site = (name: string): string =>
        `${name} {\n\ttls {\n\t\tissuer acme {\n${disabled}\t\t}\n\t}\n\trespond ok\n}\n`;
      // The authority looks at this node only, which has another name.
      await startAcme(t, acmeConfig(pebble, { globals, sites: site('other.example.com') }));
      await waitForCertificate(pebble.tlsPort, 'other.example.com');
      const [httpPort, tlsPort] = [await freePort(), await freePort()];
      await startAcme(t, acmeConfig({ ...pebble, httpPort, tlsPort }, { globals, sites: site(NAME) }));
      await waitForCertificate(tlsPort, NAME);
    });
  }
});
