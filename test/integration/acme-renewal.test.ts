import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../support/backend.ts';
import { acmeConfig, startAcme, waitForCertificate } from '../support/acme-site.ts';
import { skipPebble, startPebble } from '../support/pebble.ts';
import { openTls } from '../support/tls-client.ts';

const NAME = 'shop.example.com';
/** Renewed when a third is left. */
const LIFE_SECONDS = 15;
const GLOBALS = '\trenew_interval 1s';

describe('a certificate of a public authority (pebble) that grows old', { skip: skipPebble }, () => {
  test('is replaced without a reload, and connections go on', async (t) => {
    const pebble = await startPebble(t, { lifeSeconds: LIFE_SECONDS });
    const balancer = await startAcme(t, acmeConfig(pebble, { globals: GLOBALS }));
    const events: string[] = [];
    balancer.on('*', ({ type }) => events.push(type));
    const first = await waitForCertificate(pebble.tlsPort, NAME);
    const { raw } = await openTls(pebble.tlsPort, { rejectUnauthorized: false, servername: NAME });
    await waitForCertificate(pebble.tlsPort, NAME, ({ serialNumber }) => serialNumber !== first.serialNumber);
    assert.ok(events.includes('certificate-renewed'), events.join());
    assert.ok(!events.includes('reload'));
    raw.send(`GET / HTTP/1.1\r\nHost: ${NAME}\r\nConnection: close\r\n\r\n`);
    assert.equal((await raw.response()).status, 200);
    raw.close();
  });

  test('serves on while the authority is gone, says so in events, and is replaced when it is back', async (t) => {
    const pebble = await startPebble(t, { lifeSeconds: LIFE_SECONDS });
    const balancer = await startAcme(t, acmeConfig(pebble, { globals: GLOBALS }));
    const failures: string[] = [];
    balancer.on('certificate-failed', ({ message }) => failures.push(message));
    const first = await waitForCertificate(pebble.tlsPort, NAME);
    await pebble.program.end();
    await eventually(() => failures.length > 0, 'a failed renewal', LIFE_SECONDS * 1000);
    assert.match(
      failures[0]!,
      /^no certificate for shop\.example\.com: .*; the old certificate serves on, next attempt in \d+ s$/,
    );
    assert.equal((await waitForCertificate(pebble.tlsPort, NAME)).serialNumber, first.serialNumber);
    assert.match(
      await balancer.metrics(),
      /holdfast_certificate_renewals_total\{certificate="shop\.example\.com",result="failure"\} [1-9]/,
    );
    // It has forgotten the account: another one is opened.
    await pebble.start();
    await waitForCertificate(pebble.tlsPort, NAME, ({ serialNumber }) => serialNumber !== first.serialNumber);
  });

  test('is had in the background when the authority was away at the start, while redirects are served', async (t) => {
    const pebble = await startPebble(t);
    await pebble.program.end();
    const balancer = await startAcme(t, acmeConfig(pebble));
    const failures: string[] = [];
    balancer.on('certificate-failed', ({ message }) => failures.push(message));
    await eventually(() => failures.length > 0, 'a failed order');
    assert.match(failures[0]!, /it has none yet/);
    await pebble.start();
    await waitForCertificate(pebble.tlsPort, NAME);
  });
});
