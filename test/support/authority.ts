/** A certificate authority for one test, in a folder of its own. */
import { webcrypto } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

export interface Leaf {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Authority {
  /** PEM of its root. */
  readonly root: string;
  readonly rootFile: string;
  /** A certificate for names and IPv4 addresses; `fromDays` and `toDays` are counted from now. */
  issue(names: readonly string[], fromDays?: number, toDays?: number): Promise<Leaf>;
}

export async function makeAuthority(t: TestContext, name = 'test root'): Promise<Authority> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-ca-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + 30 * DAY_MS),
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  const rootFile = join(folder, 'root.pem');
  writeFileSync(rootFile, root.toString('pem'));
  let count = 0;
  return {
    root: root.toString('pem'),
    rootFile,
    issue: async (names, fromDays = -1, toDays = 7) => {
      count += 1;
      const own = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
      const leaf = await x509.X509CertificateGenerator.create({
        subject: `CN=${names[0] ?? 'nobody'}`,
        issuer: root.subject,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        notBefore: new Date(Date.now() + fromDays * DAY_MS),
        notAfter: new Date(Date.now() + toDays * DAY_MS),
        extensions: [
          new x509.SubjectAlternativeNameExtension(
            names.map((value) => ({ type: /^[\d.]+$/.test(value) ? ('ip' as const) : ('dns' as const), value })),
          ),
        ],
      });
      const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', own.privateKey));
      const cert = leaf.toString('pem');
      const lines = pkcs8.toString('base64').replace(/.{64}/g, '$&\n');
      const key = `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`;
      const certFile = join(folder, `leaf-${count}.pem`);
      const keyFile = join(folder, `leaf-${count}.key`);
      writeFileSync(certFile, cert);
      writeFileSync(keyFile, key, { mode: 0o600 });
      return { cert, key, certFile, keyFile };
    },
  };
}
