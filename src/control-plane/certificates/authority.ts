/** An authority of our own: a root that lasts, an intermediate that is renewed, leaves that live for hours. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../shared/clock.ts';
import type { AuthoritySpec } from '../compile/compiled.ts';
import { readKept, writeKept } from './kept-files.ts';
import { checkPair } from './pem.ts';
import { signCertificate, type KeyPair } from './signing.ts';

const DAY_MS = 86_400_000;
const ROOT_LIFETIME_MS = 3600 * DAY_MS;
/** Clocks of clients may be behind. */
const BACKDATE_MS = 60_000;
/** Renewed when less than this share of its life is left. */
const RENEWAL_SHARE = 1 / 3;

export interface AuthorityDeps {
  readonly clock: Clock;
  /** null = it lives as long as the process. */
  readonly dataDir: string | null;
}

export interface LeafRequest {
  readonly name: string;
  readonly lifetimeMs: number;
  /** Signed by the root itself, for clients that do not take intermediates. */
  readonly signWithRoot: boolean;
}

/** Where the root of an authority is kept. */
export function rootPath(dataDir: string, id: string): string {
  return join(dataDir, 'pki', 'authorities', id, 'root.crt');
}

export class Authority {
  readonly spec: AuthoritySpec;
  readonly #deps: AuthorityDeps;
  #root: Promise<KeyPair> | null = null;
  #intermediate: Promise<KeyPair> | null = null;

  constructor(spec: AuthoritySpec, deps: AuthorityDeps) {
    this.spec = spec;
    this.#deps = deps;
  }

  /** Its root, made when there is none. Rejects when it cannot be read or kept. */
  root(): Promise<KeyPair> {
    this.#root ??= this.#openRoot().catch((error: unknown) => {
      this.#root = null;
      throw error;
    });
    return this.#root;
  }

  /** A new certificate with its chain, and its key. */
  async issue({ name, lifetimeMs, signWithRoot }: LeafRequest): Promise<{ chain: string; key: string }> {
    const issuer = signWithRoot ? await this.root() : await this.#validIntermediate();
    const now = this.#deps.clock.wall();
    const notAfter = Math.min(now + lifetimeMs, endOf(issuer));
    const request = { commonName: name, notBefore: now - BACKDATE_MS, notAfter, kind: 'leaf', names: [name] } as const;
    const leaf = await signCertificate(request, issuer);
    return { chain: signWithRoot ? leaf.certificate : leaf.certificate + issuer.certificate, key: leaf.key };
  }

  async #openRoot(): Promise<KeyPair> {
    const { root, rootCommonName: commonName } = this.spec;
    if (root !== null) {
      return { certificate: readFileSync(root.certificate, 'utf8'), key: readFileSync(root.key, 'utf8') };
    }
    const kept = this.#readPair('root');
    if (kept !== null) return kept;
    const now = this.#deps.clock.wall();
    const request = { commonName, notBefore: now - BACKDATE_MS, notAfter: now + ROOT_LIFETIME_MS, names: [] };
    const made = await signCertificate({ ...request, kind: 'root' }, null);
    this.#keepPair('root', made);
    return made;
  }

  async #validIntermediate(): Promise<KeyPair> {
    this.#intermediate ??= this.#openIntermediate().catch((error: unknown) => {
      this.#intermediate = null;
      throw error;
    });
    const pair = await this.#intermediate;
    if (this.#isFresh(pair)) return pair;
    this.#intermediate = null;
    return this.#validIntermediate();
  }

  async #openIntermediate(): Promise<KeyPair> {
    const root = await this.root();
    const kept = this.#readPair('intermediate');
    if (kept !== null && this.#isFresh(kept) && isIssuedBy(kept, root)) return kept;
    const now = this.#deps.clock.wall();
    const notAfter = Math.min(now + this.spec.intermediateLifetimeMs, endOf(root));
    const { intermediateCommonName: commonName } = this.spec;
    const request = { commonName, notBefore: now - BACKDATE_MS, notAfter, kind: 'intermediate', names: [] } as const;
    const made = await signCertificate(request, root);
    this.#keepPair('intermediate', made);
    return made;
  }

  #isFresh(pair: KeyPair): boolean {
    const { validFrom, validTo } = new X509Certificate(pair.certificate);
    const life = Date.parse(validTo) - Date.parse(validFrom);
    return Date.parse(validTo) - this.#deps.clock.wall() > life * RENEWAL_SHARE;
  }

  #readPair(kind: 'root' | 'intermediate'): KeyPair | null {
    if (this.#deps.dataDir === null) return null;
    const [certificate, key] = [readKept(this.#path(kind, 'crt')), readKept(this.#path(kind, 'key'))];
    if (certificate === null || key === null) return null;
    try {
      checkPair(certificate, key);
    } catch (error) {
      throw new Error(`${this.#path(kind, 'crt')} is damaged: remove it and its .key to have it made anew`, {
        cause: error,
      });
    }
    return { certificate, key };
  }

  /** The key first: a certificate without its key is worth nothing. */
  #keepPair(kind: 'root' | 'intermediate', { certificate, key }: KeyPair): void {
    if (this.#deps.dataDir === null) return;
    writeKept(this.#path(kind, 'key'), key);
    writeKept(this.#path(kind, 'crt'), certificate);
  }

  #path(kind: string, extension: string): string {
    return join(this.#deps.dataDir!, 'pki', 'authorities', this.spec.id, `${kind}.${extension}`);
  }
}

function endOf({ certificate }: KeyPair): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}

function isIssuedBy({ certificate }: KeyPair, root: KeyPair): boolean {
  return new X509Certificate(certificate).verify(new X509Certificate(root.certificate).publicKey);
}
