/** Certificates for tests: an authority, and leaves it signed, in files of a folder that goes with the test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { signCertificate, type KeyPair } from '../../src/control-plane/certificates/signing.ts';

const DAY_MS = 86_400_000;

export interface LeafFiles extends KeyPair {
  readonly certificateFile: string;
  readonly keyFile: string;
}

export class TestAuthority {
  readonly folder: string;
  readonly root: KeyPair;
  readonly rootFile: string;

  constructor(folder: string, root: KeyPair) {
    this.folder = folder;
    this.root = root;
    this.rootFile = join(folder, 'root.crt');
    writeFileSync(this.rootFile, root.certificate);
  }

  static async create(t: TestContext, commonName = 'Test Root'): Promise<TestAuthority> {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const now = Date.now();
    const life = { notBefore: now - DAY_MS, notAfter: now + 30 * DAY_MS };
    const root = await signCertificate({ commonName, ...life, kind: 'root', names: [] }, null);
    return new TestAuthority(folder, root);
  }

  /** `file` is the name of its files, without extension. */
  async leaf(file: string, names: readonly string[], lifeMs: number = 29 * DAY_MS): Promise<LeafFiles> {
    const now = Date.now();
    const life = { notBefore: now - DAY_MS, notAfter: now + lifeMs };
    const pair = await signCertificate({ commonName: names[0] ?? file, ...life, kind: 'leaf', names }, this.root);
    const [certificateFile, keyFile] = [join(this.folder, `${file}.crt`), join(this.folder, `${file}.key`)];
    writeFileSync(certificateFile, pair.certificate);
    writeFileSync(keyFile, pair.key);
    return { ...pair, certificateFile, keyFile };
  }
}
