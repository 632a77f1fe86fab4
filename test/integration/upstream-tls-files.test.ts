/** Files of TLS to upstreams that change while the balancer runs. */
import assert from 'node:assert/strict';
import { copyFileSync, renameSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { makeAuthority } from '../support/authority.ts';
import { eventually } from '../support/backend.ts';
import { site, startBalancer } from '../support/balance.ts';
import { get } from '../support/raw-client.ts';
import { startHttps } from '../support/secure-backend.ts';

const OPTIONS = { timeout: 60_000, concurrency: true };

function replace(from: string, to: string): void {
  copyFileSync(from, `${to}.new`);
  renameSync(`${to}.new`, to);
}

test(
  'an authority that is exchanged is believed, the old one no more, and a broken file changes nothing',
  OPTIONS,
  async (t) => {
    const [first, second] = [await makeAuthority(t), await makeAuthority(t, 'second root')];
    const [before, after] = [
      await startHttps(t, await first.issue(['localhost'])),
      await startHttps(t, await second.issue(['localhost'])),
    ];
    const transport = `transport http {\ntls_trust_pool file ${first.rootFile}\nversions 1.1\n}`;
    const routes = [before, after].map(
      ({ port }, at) => `handle /${at} {\nreverse_proxy https://localhost:${port} {\n${transport}\n}\n}`,
    );
    const balancer = await startBalancer(t, site(routes.join('\n')));
    const failures: string[] = [];
    balancer.on('reload-failed', ({ message }) => failures.push(message));
    const answers = async (): Promise<number[]> => [
      (await get(balancer.port, '/0')).status,
      (await get(balancer.port, '/1')).status,
    ];
    assert.deepEqual(await answers(), [200, 502]);
    const whole = `${first.rootFile}.whole`;
    copyFileSync(first.rootFile, whole);
    writeFileSync(first.rootFile, 'rubbish');
    await eventually(() => failures.length > 0, 'the event', 20_000);
    assert.match(failures[0]!, /the old config serves on: .*has no certificate/);
    assert.deepEqual(await answers(), [200, 502]);
    replace(second.rootFile, first.rootFile);
    await eventually(async () => (await get(balancer.port, '/1')).status === 200, 'the new authority', 20_000);
    assert.deepEqual(await answers(), [502, 200]);
  },
);

test('a new client certificate is shown on the next connection', OPTIONS, async (t) => {
  const authority = await makeAuthority(t);
  const asks = { ...(await authority.issue(['localhost'])), ca: authority.root, requestCert: true };
  const server = await startHttps(t, { ...asks, rejectUnauthorized: true });
  const [own, next] = [await authority.issue(['first.test']), await authority.issue(['second.test'])];
  const tls = `tls_trust_pool file ${authority.rootFile}\ntls_client_auth ${own.certFile} ${own.keyFile}`;
  const transport = `transport http {\n${tls}\nversions 1.1\nkeepalive off\n}`;
  const balancer = await startBalancer(t, site(`reverse_proxy https://localhost:${server.port} {\n${transport}\n}`));
  const shown = async (): Promise<string> => {
    assert.equal((await get(balancer.port)).status, 200);
    const session = server.secured.at(-1)!;
    return String(session.getPeerCertificate().subject?.CN ?? '');
  };
  assert.equal(await shown(), 'first.test');
  // One after the other: a pair that does not fit is no certificate, and the old one is shown on.
  replace(next.certFile, own.certFile);
  replace(next.keyFile, own.keyFile);
  await eventually(async () => (await shown()) === 'second.test', 'the new certificate', 20_000);
});
