import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { eventually } from '../support/backend.ts';
import { acmeConfig, dataFolder, shownCertificate, startAcme, waitForCertificate } from '../support/acme-site.ts';
import { skipPebble, startPebble } from '../support/pebble.ts';
import { get } from '../support/raw-client.ts';
import { getTls } from '../support/tls-client.ts';

const NAME = 'shop.example.com';

describe('a certificate of a public authority (pebble)', { skip: skipPebble }, () => {
  test('is had by HTTP-01 through the redirecting port, and trusted by who trusts the authority', async (t) => {
    const pebble = await startPebble(t);
    await startAcme(t, acmeConfig(pebble));
    await waitForCertificate(pebble.tlsPort, NAME);
    const ca = await pebble.issuingRoot();
    const { status, body } = await getTls(pebble.tlsPort, { ca, servername: NAME });
    assert.deepEqual([status, body], [200, 'from the shop']);
    const redirect = await get(pebble.httpPort, '/cart', { Host: NAME });
    assert.equal(redirect.status, 308);
    // A token that nobody here asked for is left to the routes.
    assert.equal((await get(pebble.httpPort, '/.well-known/acme-challenge/unknown', { Host: NAME })).status, 308);
  });

  test('is had by TLS-ALPN-01 where nothing else may be used', async (t) => {
    const pebble = await startPebble(t);
    const sites = `${NAME} {\n\ttls {\n\t\tissuer acme {\n\t\t\tdisable_http_challenge\n\t\t}\n\t}\n\trespond ok\n}\n`;
    await startAcme(t, acmeConfig(pebble, { sites }));
    await waitForCertificate(pebble.tlsPort, NAME);
    assert.ok((await shownCertificate(pebble.tlsPort, NAME, await pebble.issuingRoot())) !== null);
  });

  test('is had by the other challenge when one fails', async (t) => {
    const pebble = await startPebble(t);
    // Nobody listens where the authority looks for HTTP-01.
    const config = acmeConfig(pebble).replace(`http_port ${pebble.httpPort}`, `http_port ${pebble.httpPort + 1}`);
    await startAcme(t, config);
    await waitForCertificate(pebble.tlsPort, NAME);
  });

  test('is had by DNS-01 through a program, for a wildcard, and the record is removed', async (t) => {
    const pebble = await startPebble(t);
    const folder = dataFolder(t);
    const [hook, log] = [join(folder, 'hook.sh'), join(folder, 'hook.log')];
    const script =
      `#!/bin/sh\necho "$1 $2" >> ${log}\nif [ "$1" = present ]; then\n` +
      `curl -s -d "{\\"host\\":\\"$2.\\",\\"value\\":\\"$3\\"}" ${pebble.dnsUrl}/set-txt\nelse\n` +
      `curl -s -d "{\\"host\\":\\"$2.\\"}" ${pebble.dnsUrl}/clear-txt\nfi\n`;
    writeFileSync(hook, script);
    chmodSync(hook, 0o755);
    const sites = `*.example.com {\n\ttls {\n\t\tdns hook ${hook}\n\t}\n\trespond ok\n}\n`;
    const balancer = await startAcme(t, acmeConfig(pebble, { sites }));
    const { subjectaltname } = await waitForCertificate(pebble.tlsPort, 'any.example.com');
    assert.equal(subjectaltname, 'DNS:*.example.com');
    const record = '_acme-challenge.example.com';
    assert.deepEqual(readFileSync(log, 'utf8').trim().split('\n').slice(-2), [
      `present ${record}`,
      `cleanup ${record}`,
    ]);
    assert.ok(balancer.addresses().size > 0);
  });

  test('is had with an external account binding, and not without', async (t) => {
    const key = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W';
    const pebble = await startPebble(t, { bindings: { 'kid-1': key } });
    const bound = await startAcme(t, acmeConfig(pebble, { globals: `\tacme_eab kid-1 ${key}` }));
    await waitForCertificate(pebble.tlsPort, NAME);
    await bound.stop(0);
    const failures: string[] = [];
    const unbound = await startAcme(t, acmeConfig(pebble));
    unbound.on('certificate-failed', ({ message }) => failures.push(message));
    await eventually(() => failures.length > 0, 'the refusal');
    assert.match(failures[0]!, /external account|externalAccount|EAB/i);
    assert.equal(await shownCertificate(pebble.tlsPort, NAME), null);
  });

  test('is had from the second issuer when the first is out of reach', async (t) => {
    const pebble = await startPebble(t);
    const second = `issuer acme ${pebble.directory}`;
    const sites = `${NAME} {\n\ttls {\n\t\tissuer acme https://127.0.0.1:1/dir\n\t\t${second}\n\t}\n\trespond ok\n}\n`;
    await startAcme(t, acmeConfig(pebble, { sites }));
    await waitForCertificate(pebble.tlsPort, NAME);
  });

  test('has a key of the wanted type', async (t) => {
    const pebble = await startPebble(t);
    await startAcme(t, acmeConfig(pebble, { globals: '\tkey_type rsa2048' }));
    const certificate = await waitForCertificate(pebble.tlsPort, NAME);
    assert.equal(Reflect.get(certificate, 'bits'), 2048);
  });

  test('is kept with its account over a restart, readable for the owner alone', async (t) => {
    const pebble = await startPebble(t);
    const dir = dataFolder(t);
    const first = await startAcme(t, acmeConfig(pebble), dir);
    const { serialNumber } = await waitForCertificate(pebble.tlsPort, NAME);
    await first.stop(0);
    await pebble.program.end();
    await startAcme(t, acmeConfig(pebble), dir);
    assert.equal((await waitForCertificate(pebble.tlsPort, NAME)).serialNumber, serialNumber);
    assert.equal(readdirSync(join(dir, 'acme', `127.0.0.1-${new URL(pebble.directory).port}-dir`)).length, 1);
    assert.deepEqual(readdirSync(join(dir, 'challenges', 'http-01')), []);
    assert.deepEqual(readdirSync(join(dir, 'locks')), []);
  });
});
