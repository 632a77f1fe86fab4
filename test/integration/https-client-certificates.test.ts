/** Clients that are known one by one (`trusted_leaf_cert`, `verifier leaf`), and what is told of their certificates. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { ConnectionOptions } from 'node:tls';
import { startBalancer } from '../support/balance.ts';
import { eventually } from '../support/backend.ts';
import { TestAuthority, type LeafFiles } from '../support/certificates.ts';
import { findProgram, unlessInstalled } from '../support/program.ts';
import { startTlsSite, tlsSiteConfig } from '../support/tls-site.ts';
import { getTls, openTls } from '../support/tls-client.ts';

interface People {
  readonly authority: TestAuthority;
  readonly leaf: LeafFiles;
  /** By the authority of the site, and listed. */
  readonly listed: LeafFiles;
  /** By the same authority, and not listed. */
  readonly unlisted: LeafFiles;
  /** By nobody known, and listed. */
  readonly strange: LeafFiles;
}

async function meet(t: TestContext): Promise<People> {
  const authority = await TestAuthority.create(t);
  return {
    authority,
    leaf: await authority.leaf('a', ['a.test']),
    listed: await authority.leaf('listed', ['listed.test']),
    unlisted: await authority.leaf('unlisted', ['unlisted.test']),
    strange: await (await TestAuthority.create(t, 'Other')).leaf('strange', ['strange.test']),
  };
}

async function isLetIn(port: number, authority: TestAuthority, client: LeafFiles | null): Promise<boolean> {
  const options: ConnectionOptions = {
    ca: authority.root.certificate,
    servername: 'a.test',
    ...(client === null ? {} : { cert: client.certificate, key: client.key }),
  };
  return getTls(port, options).then(
    ({ body }) => body === 'ok',
    () => false,
  );
}

function derOf({ certificate }: LeafFiles): string {
  return new X509Certificate(certificate).raw.toString('base64');
}

describe('client certificates that are listed', () => {
  const forms: Readonly<Record<string, (people: People) => string>> = {
    trusted_leaf_cert: ({ listed, strange }) =>
      `trusted_leaf_cert ${derOf(listed)}\ntrusted_leaf_cert ${derOf(strange)}`,
    trusted_leaf_cert_file: ({ listed, strange }) =>
      `trusted_leaf_cert_file ${listed.certificateFile}\ntrusted_leaf_cert_file ${strange.certificateFile}`,
    'verifier leaf file': ({ listed, strange }) =>
      `verifier leaf file ${listed.certificateFile} ${strange.certificateFile}`,
    'verifier leaf with a folder': ({ authority, listed, strange }) => {
      const folder = join(authority.folder, 'known');
      mkdirSync(folder);
      writeFileSync(join(folder, 'listed.pem'), listed.certificate);
      writeFileSync(join(folder, 'strange.pem'), strange.certificate);
      return `verifier leaf {\nfolder ${folder}\n}`;
    },
  };
  for (const [name, lines] of Object.entries(forms)) {
    test(`${name}: they come in, whoever signed them, and nobody else does`, async (t) => {
      const people = await meet(t);
      const { authority, leaf, listed, unlisted, strange } = people;
      const tls = `client_auth {\n${lines(people)}\n}`;
      const { port } = await startBalancer(t, tlsSiteConfig(authority, leaf, { tls }));
      assert.equal(await isLetIn(port, authority, listed), true, 'listed');
      assert.equal(await isLetIn(port, authority, strange), true, 'strange and listed');
      assert.equal(await isLetIn(port, authority, unlisted), false, 'unlisted');
      assert.equal(await isLetIn(port, authority, null), false, 'without a certificate');
    });
  }

  test('with a trust pool both must hold', async (t) => {
    const { authority, leaf, listed, unlisted, strange } = await meet(t);
    const list = `verifier leaf file ${listed.certificateFile} ${strange.certificateFile}`;
    const tls = `client_auth {\ntrust_pool file ROOT\n${list}\n}`;
    const { port } = await startBalancer(t, tlsSiteConfig(authority, leaf, { tls }));
    assert.equal(await isLetIn(port, authority, listed), true, 'listed');
    assert.equal(await isLetIn(port, authority, strange), false, 'listed, but signed by somebody else');
    assert.equal(await isLetIn(port, authority, unlisted), false, 'signed, but not listed');
  });

  test('in mode verify_if_given nobody needs one, but who shows one must be listed', async (t) => {
    const { authority, leaf, listed, unlisted } = await meet(t);
    const tls = `client_auth {\nmode verify_if_given\ntrusted_leaf_cert_file ${listed.certificateFile}\n}`;
    const { port } = await startBalancer(t, tlsSiteConfig(authority, leaf, { tls }));
    assert.equal(await isLetIn(port, authority, null), true);
    assert.equal(await isLetIn(port, authority, listed), true);
    assert.equal(await isLetIn(port, authority, unlisted), false);
  });

  test('taking one off the list by reload keeps its session from being resumed', async (t) => {
    const { authority, leaf, listed, unlisted } = await meet(t);
    const tls = (client: LeafFiles): string => `client_auth {\ntrusted_leaf_cert_file ${client.certificateFile}\n}`;
    const balancer = await startBalancer(t, tlsSiteConfig(authority, leaf, { tls: tls(listed) }));
    const options = {
      ...{ ca: authority.root.certificate, servername: 'a.test' },
      ...{ cert: listed.certificate, key: listed.key },
    };
    const { socket, raw } = await openTls(balancer.port, options);
    const ticket = once(socket, 'session');
    raw.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    const [session] = (await ticket) as [Buffer];
    assert.equal((await raw.response()).body, 'ok');
    raw.close();
    assert.equal((await getTls(balancer.port, { ...options, session })).body, 'ok');
    await balancer.reload(tlsSiteConfig(authority, leaf, { tls: tls(unlisted) }));
    await assert.rejects(getTls(balancer.port, { ...options, session }));
    assert.equal(await isLetIn(balancer.port, authority, unlisted), true);
  });

  test(
    'taking a certificate out of the folder locks its client out, without a reload',
    { timeout: 60_000 },
    async (t) => {
      const { authority, leaf, listed, unlisted } = await meet(t);
      const folder = join(authority.folder, 'known');
      mkdirSync(folder);
      writeFileSync(join(folder, 'listed.pem'), listed.certificate);
      writeFileSync(join(folder, 'other.pem'), unlisted.certificate);
      const tls = `client_auth {\nverifier leaf folder ${folder}\n}`;
      const { port } = await startBalancer(t, tlsSiteConfig(authority, leaf, { tls }));
      assert.equal(await isLetIn(port, authority, listed), true);
      rmSync(join(folder, 'listed.pem'));
      await eventually(async () => !(await isLetIn(port, authority, listed)), 'the client to be locked out', 20_000);
      assert.equal(await isLetIn(port, authority, unlisted), true);
      rmSync(join(folder, 'other.pem'));
      await eventually(
        async () => !(await isLetIn(port, authority, unlisted)),
        'the last one to be locked out',
        20_000,
      );
    },
  );

  test('a list that cannot be read is told with its line', async (t) => {
    const { authority, leaf } = await meet(t);
    const refused = (lines: string, told: RegExp): Promise<void> =>
      assert.rejects(startBalancer(t, tlsSiteConfig(authority, leaf, { tls: `client_auth {\n${lines}\n}` })), told);
    await refused('trusted_leaf_cert_file /nowhere.pem', /cannot read \/nowhere\.pem.*Caddyfile:\d+/s);
    await refused('trusted_leaf_cert bm9uZQ==', /trusted certificate cannot be read.*Caddyfile:\d+/s);
    await refused('verifier leaf', /needs certificates.*Caddyfile:\d+|Caddyfile:\d+.*needs certificates/s);
    await refused('verifier http', /module not registered: tls\.client_auth\.verifier\.http/);
  });
});

test('curl comes in with its certificate', { skip: unlessInstalled(findProgram('curl'), 'curl') }, async (t) => {
  const { authority, leaf, listed, unlisted } = await meet(t);
  const tls = `client_auth {\ntrusted_leaf_cert_file ${listed.certificateFile}\n}`;
  const { port } = await startBalancer(t, tlsSiteConfig(authority, leaf, { tls }));
  const curl = (client: LeafFiles): string =>
    execFileSync(
      findProgram('curl')!,
      [
        ...['-s', '--max-time', '10', '--cacert', authority.rootFile, '--connect-to', `::127.0.0.1:${port}`],
        ...['--cert', client.certificateFile, '--key', client.keyFile, `https://a.test:${port}/`],
      ],
      { encoding: 'utf8' },
    );
  // The balancer answers from threads of this process, which execFileSync does not stop.
  assert.equal(curl(listed), 'ok');
  assert.throws(() => curl(unlisted));
});

test('alternative names and the key are told in placeholders, as Caddy prints them', async (t) => {
  const openssl = findProgram('openssl');
  if (openssl === undefined) return t.skip('openssl is not installed');
  const body =
    '\trespond "{http.request.tls.client.san.dns_names}|{http.request.tls.client.san.dns_names.1}|{http.request.tls.client.san.dns_names.9}|' +
    '{http.request.tls.client.san.emails.0}|{http.request.tls.client.san.ips}|{http.request.tls.client.san.uris.0}|{http.request.tls.client.public_key}"';
  const { port, authority, trusting } = await startTlsSite(t, { tls: 'client_auth {\nmode require\n}', body });
  const [key, cert] = [join(authority.folder, 'x.key'), join(authority.folder, 'x.pem')];
  const names = 'DNS:a.test,DNS:b.test,email:me@a.test,IP:10.0.0.1,IP:2001:db8::1,URI:spiffe://a/b';
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=x', '-days', '2'];
  const args = ['req', '-x509', ...kind, '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', cert];
  execFileSync(openssl, args, { stdio: 'pipe' });
  const told = await getTls(port, { ...trusting, cert: readFileSync(cert), key: readFileSync(key) });
  const parts = told.body.split('|');
  assert.deepEqual(parts.slice(0, -1), [
    ...['[a.test b.test]', 'b.test', '', 'me@a.test', '[10.0.0.1 2001:db8::1]', 'spiffe://a/b'],
  ]);
  // The point of the curve, uncompressed.
  assert.match(parts.at(-1)!, /^04[0-9a-f]{128}$/);
});
