/** `tls shop.p12 [password file]`: certificate, chain and key in one file. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { startBalancer } from '../support/balance.ts';
import { eventually } from '../support/backend.ts';
import { TestAuthority, type LeafFiles } from '../support/certificates.ts';
import { findProgram, unlessInstalled } from '../support/program.ts';
import { getTls, openTls } from '../support/tls-client.ts';

const OPENSSL = findProgram('openssl');

interface Store {
  readonly authority: TestAuthority;
  readonly file: string;
  readonly passwordFile: string;
}

async function makeStore(t: TestContext, extension = 'p12'): Promise<Store> {
  const authority = await TestAuthority.create(t);
  const passwordFile = join(authority.folder, 'password');
  writeFileSync(passwordFile, 'geheim\n');
  const file = join(authority.folder, `shop.${extension}`);
  store(authority, await authority.leaf('shop', ['shop.test']), file);
  return { authority, file, passwordFile };
}

/** As an operator makes one, put into place by renaming. */
function store({ rootFile }: TestAuthority, leaf: LeafFiles, file: string, password = 'geheim'): void {
  const files = ['-in', leaf.certificateFile, '-inkey', leaf.keyFile, '-certfile', rootFile];
  execFileSync(OPENSSL!, ['pkcs12', '-export', ...files, '-out', `${file}.new`, '-passout', `pass:${password}`], {
    stdio: 'pipe',
  });
  renameSync(`${file}.new`, file);
}

function config(files: string): string {
  return (
    '{\n\tadmin off\n\tauto_https disable_redirects\n}\n' +
    `https://shop.test:0 {\n\tbind 127.0.0.1\n\ttls ${files}\n\trespond ok\n}\n`
  );
}

describe('PKCS#12', { skip: unlessInstalled(OPENSSL, 'openssl') }, () => {
  for (const extension of ['p12', 'PFX']) {
    test(`a .${extension} file is served, chain included`, async (t) => {
      const { authority, file, passwordFile } = await makeStore(t, extension);
      const { port } = await startBalancer(t, config(`${file} ${passwordFile}`));
      const options = { ca: authority.root.certificate, servername: 'shop.test' };
      assert.equal((await getTls(port, options)).body, 'ok');
      const { socket, raw } = await openTls(port, options);
      assert.equal(socket.getPeerCertificate(true).issuerCertificate.subject.CN, 'Test Root');
      raw.close();
    });
  }

  test('JSON names it with its format', async (t) => {
    const { authority, file, passwordFile } = await makeStore(t, 'store');
    const { port } = await startBalancer(t, {
      admin: { disabled: true },
      apps: {
        http: {
          servers: {
            srv0: {
              listen: ['127.0.0.1:0'],
              automatic_https: { disable_redirects: true },
              tls_connection_policies: [{}],
              routes: [{ match: [{ host: ['shop.test'] }], handle: [{ handler: 'static_response', body: 'ok' }] }],
            },
          },
        },
        tls: {
          certificates: { load_files: [{ certificate: file, format: 'pkcs12', password_file: passwordFile }] },
        },
      },
    });
    assert.equal((await getTls(port, { ca: authority.root.certificate, servername: 'shop.test' })).body, 'ok');
  });

  test('a new file is served without a reload, a broken one changes nothing', { timeout: 60_000 }, async (t) => {
    const { authority, file, passwordFile } = await makeStore(t);
    const balancer = await startBalancer(t, config(`${file} ${passwordFile}`));
    const options = { ca: authority.root.certificate, servername: 'shop.test' };
    const serial = async (): Promise<string> => {
      const { socket, raw } = await openTls(balancer.port, options);
      const { serialNumber } = socket.getPeerCertificate();
      raw.close();
      return serialNumber;
    };
    const first = await serial();
    store(authority, await authority.leaf('second', ['shop.test']), file);
    await eventually(async () => (await serial()) !== first, 'the new certificate', 20_000);
    const second = await serial();
    store(authority, await authority.leaf('third', ['shop.test']), file, 'another');
    await eventually(
      async () => /certificate_renewals_total\{[^}]*result="failure"\} 1/.test(await balancer.metrics()),
      'the failure to be counted',
      20_000,
    );
    assert.equal(await serial(), second);
  });

  test('a wrong password and a missing one are told with their line', async (t) => {
    const { file, passwordFile } = await makeStore(t);
    await assert.rejects(startBalancer(t, config(file)), /shop\.p12: it needs its password.*Caddyfile:7/s);
    writeFileSync(passwordFile, 'falsch');
    await assert.rejects(
      startBalancer(t, config(`${file} ${passwordFile}`)),
      /the password is wrong, or the file is damaged.*Caddyfile:7/s,
    );
    await assert.rejects(startBalancer(t, config(`${file} /nowhere`)), /cannot read \/nowhere.*Caddyfile:7/s);
  });

  test('JSON that mixes the two formats is refused', async (t) => {
    const refused = (entry: object, told: RegExp): Promise<void> =>
      assert.rejects(startBalancer(t, { apps: { tls: { certificates: { load_files: [entry] } } } }), told);
    await refused({ certificate: 'a.p12', key: 'a.key', format: 'pkcs12' }, /holds its key: leave key out/);
    await refused({ certificate: 'a.pem' }, /needs the file of its key/);
    await refused({ certificate: 'a.pem', key: 'a.key', password_file: 'x' }, /password_file is for the format pkcs12/);
  });
});
