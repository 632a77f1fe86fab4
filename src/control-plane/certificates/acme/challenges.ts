/** Answers to challenges that are open: in the storage, so that every node that shares it can give them. */
import type { CertificatePlan } from '../../../shared/plan/tls.ts';
import { makeCredential } from '../pem.ts';
import type { Proof } from './client.ts';
import { storageName, type Storage } from './storage.ts';

const TOKEN = /^[A-Za-z0-9_-]{1,256}$/;

interface AlpnAnswer {
  readonly chain: string;
  readonly key: string;
}

export class Challenges {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** From here on it is answered; the result ends that. */
  async open(proof: Proof): Promise<() => Promise<void>> {
    const key = proof.type === 'http-01' ? httpKey(proof.token) : alpnKey(proof.name);
    const text = proof.type === 'http-01' ? proof.keyAuthorization : JSON.stringify(await proof.alpnCertificate());
    if (key === null) throw new Error(`the authority sent a token that is none: ${JSON.stringify(proof.token)}`);
    await this.#storage.write(key, text);
    return () => this.#storage.remove(key);
  }

  /** The answer to an HTTP-01 challenge; null = nobody asked for the token. Never rejects. */
  async answerHttp(token: string): Promise<string | null> {
    const key = httpKey(token);
    return key === null ? null : this.#read(key);
  }

  /** The certificate of a TLS-ALPN-01 challenge. Never rejects. */
  async answerAlpn(name: string): Promise<CertificatePlan | null> {
    const text = await this.#read(alpnKey(name));
    if (text === null) return null;
    try {
      const { chain, key } = JSON.parse(text) as AlpnAnswer;
      return makeCredential(chain, key, []).plan;
    } catch {
      return null;
    }
  }

  async #read(key: string): Promise<string | null> {
    try {
      return await this.#storage.read(key);
    } catch {
      return null;
    }
  }
}

function httpKey(token: string): string | null {
  return TOKEN.test(token) ? `challenges/http-01/${token}` : null;
}

function alpnKey(name: string): string {
  return `challenges/tls-alpn-01/${storageName(name)}.json`;
}
