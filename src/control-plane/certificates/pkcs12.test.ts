import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { TestAuthority, type LeafFiles } from '../../../test/support/certificates.ts';
import { findProgram, unlessInstalled } from '../../../test/support/program.ts';
import { makeCredential } from './pem.ts';
import { readPkcs12 } from './pkcs12.ts';

const needsOpenssl = { skip: unlessInstalled(findProgram('openssl'), 'openssl') };

interface Made {
  readonly authority: TestAuthority;
  readonly leaf: LeafFiles;
  /** What `openssl pkcs12 -export` makes of leaf and root with more options. */
  export(password: string, ...options: string[]): Buffer;
}

async function make(t: TestContext): Promise<Made> {
  const authority = await TestAuthority.create(t);
  const leaf = await authority.leaf('shop', ['shop.test']);
  return {
    authority,
    leaf,
    export: (password, ...options) => {
      const out = join(authority.folder, 'out.p12');
      const files = ['-in', leaf.certificateFile, '-inkey', leaf.keyFile, '-certfile', authority.rootFile];
      const args = ['pkcs12', '-export', ...files, '-out', out, '-passout', `pass:${password}`, ...options];
      execFileSync('openssl', args, { stdio: 'pipe' });
      return readFileSync(out);
    },
  };
}

describe('PKCS#12', () => {
  const forms: Readonly<Record<string, readonly string[]>> = {
    'as OpenSSL 3 writes it': [],
    'with AES-128 and a MAC of SHA-512': ['-certpbe', 'AES-128-CBC', '-keypbe', 'AES-128-CBC', '-macalg', 'sha512'],
    'with triple DES and SHA-1, as older programs do': [
      ...['-certpbe', 'PBE-SHA1-3DES', '-keypbe', 'PBE-SHA1-3DES', '-macalg', 'sha1'],
    ],
    'with certificates in the clear': ['-certpbe', 'NONE'],
    'with nothing encrypted': ['-certpbe', 'NONE', '-keypbe', 'NONE'],
    'with a few rounds of hashing': ['-iter', '1', '-maciter'],
  };
  for (const [name, options] of Object.entries(forms)) {
    test(`is read ${name}`, needsOpenssl, async (t) => {
      const made = await make(t);
      const { chain, key } = readPkcs12(made.export('geheim', ...options), 'geheim');
      const { plan } = makeCredential(chain, key, []);
      assert.deepEqual(plan.names, ['shop.test']);
      assert.equal(plan.chain.match(/BEGIN CERTIFICATE/g)?.length, 2);
      assert.equal(new X509Certificate(plan.chain).toString().trim(), made.leaf.certificate.trim());
    });
  }

  test('is read with a password beyond ASCII, and with an empty one', needsOpenssl, async (t) => {
    const made = await make(t);
    for (const password of ['pässwörd€', '']) {
      assert.match(readPkcs12(made.export(password), password).key, /BEGIN PRIVATE KEY/);
    }
  });

  test('an RSA key is read too', needsOpenssl, async (t) => {
    const { authority } = await make(t);
    const [key, certificate, out] = ['rsa.key', 'rsa.crt', 'rsa.p12'].map((name) => join(authority.folder, name));
    const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=rsa.test', '-days', '2'];
    execFileSync('openssl', [...request, '-keyout', key!, '-out', certificate!], { stdio: 'pipe' });
    const files = ['-in', certificate!, '-inkey', key!, '-out', out!, '-passout', 'pass:x'];
    execFileSync('openssl', ['pkcs12', '-export', ...files], { stdio: 'pipe' });
    const read = readPkcs12(readFileSync(out!), 'x');
    assert.equal(makeCredential(read.chain, read.key, []).plan.keyType, 'rsa');
  });

  test('a wrong password, a missing one and a damaged file are told apart from each other', needsOpenssl, async (t) => {
    const made = await make(t);
    const bytes = made.export('geheim');
    assert.throws(() => readPkcs12(bytes, 'falsch'), /password is wrong, or the file is damaged/);
    assert.throws(() => readPkcs12(bytes, ''), /needs its password/);
    assert.throws(() => readPkcs12(bytes.subarray(0, -9), 'geheim'), /cut off/);
    assert.throws(() => readPkcs12(Buffer.from(made.leaf.certificate), 'x'), /damaged|cut off/);
  });

  test('a file without a key or without a MAC is refused', needsOpenssl, async (t) => {
    const made = await make(t);
    assert.throws(() => readPkcs12(made.export('x', '-nokeys'), 'x'), /no private key/);
    assert.throws(() => readPkcs12(made.export('x', '-nomac'), 'x'), /no MAC/);
  });

  test('damage in any place is an Error, never a crash', needsOpenssl, async (t) => {
    const made = await make(t);
    // Few rounds: hundreds of files are read.
    const bytes = made.export('x', '-iter', '1', '-nomaciter');
    writeFileSync(join(made.authority.folder, 'whole.p12'), bytes);
    for (let at = 0; at < bytes.length; at += 7) {
      const damaged = Buffer.from(bytes);
      damaged[at] = damaged[at]! ^ 0xff;
      assert.throws(() => readPkcs12(damaged, 'x'), Error, `byte ${at}`);
    }
  });
});
