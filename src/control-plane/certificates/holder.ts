/** One source of certificates of the config, what it gave last, and when it is to be asked again. */
import type { Clock } from '../../shared/clock.ts';
import type { CertificateSpec as AnySpec } from '../compile/compiled.ts';
import type { Authority } from './authority.ts';
import { makeCredential, type Credential } from './pem.ts';
import { fileMark, readCredentials } from './source-files.ts';

/** A leaf is renewed when this share of its life has passed. */
const RENEWAL_SHARE = 2 / 3;
/** A renewal that failed is tried again after this long. */
const RETRY_MS = 60_000;

/** What can be had while somebody waits for it. */
type CertificateSpec = Exclude<AnySpec, { source: 'acme' }>;

export type Refresh = 'same' | 'new' | Error;

export class Holder {
  readonly spec: CertificateSpec;
  readonly #clock: Clock;
  readonly #authority: Authority | null;
  #credentials: readonly Credential[] = [];
  #mark = '';
  #retryAt = 0;
  renewals = 0;
  failures = 0;
  /** Told of already: a certificate is about to expire and nobody renews it. */
  warned = false;

  /** `authority` issues an `internal` one. */
  constructor(spec: CertificateSpec, clock: Clock, authority: Authority | null) {
    this.spec = spec;
    this.#clock = clock;
    this.#authority = authority;
  }

  get credentials(): readonly Credential[] {
    return this.#credentials;
  }

  /** For people: what it is about. */
  get label(): string {
    const { spec } = this;
    if (spec.source === 'internal') return spec.name;
    if (spec.source === 'folder') return spec.folder;
    return spec.source === 'files' ? spec.certificate : (this.#credentials[0]?.plan.names[0] ?? 'inline');
  }

  /** Wall-clock milliseconds at which the first of its certificates ends; Infinity = it has none. */
  get expiresAt(): number {
    return Math.min(...this.#credentials.map(({ notAfter }) => notAfter));
  }

  /** For the first time. Rejects when there is nothing to serve. */
  async open(): Promise<void> {
    this.#mark = await this.#currentMark();
    this.#credentials = await this.#fetch();
  }

  /** Never rejects; the old certificates stay when new ones cannot be had. */
  async refresh(): Promise<Refresh> {
    const mark = await this.#currentMark();
    if (!this.#isDue(mark)) return 'same';
    try {
      const before = this.#credentials.map(({ plan }) => plan.id).join(' ');
      const fetched = await this.#fetch();
      this.#mark = mark;
      if (fetched.map(({ plan }) => plan.id).join(' ') === before) return 'same';
      this.#credentials = fetched;
      this.warned = false;
      this.renewals += 1;
      return 'new';
    } catch (error) {
      // Files are looked at again when they change once more.
      this.#mark = mark;
      this.#retryAt = this.#clock.now() + RETRY_MS;
      this.failures += 1;
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #isDue(mark: string): boolean {
    const { source } = this.spec;
    if (source === 'files' || source === 'folder') return mark !== '' && mark !== this.#mark;
    if (source === 'pem') return false;
    return this.#clock.now() >= this.#retryAt && this.#clock.wall() >= this.#renewAt();
  }

  #renewAt(): number {
    return Math.min(
      ...this.#credentials.map(({ notBefore, notAfter }) => notBefore + (notAfter - notBefore) * RENEWAL_SHARE),
    );
  }

  #currentMark(): Promise<string> {
    const { spec } = this;
    return spec.source === 'files' || spec.source === 'folder' ? fileMark(spec) : Promise.resolve('');
  }

  async #fetch(): Promise<Credential[]> {
    const { spec } = this;
    switch (spec.source) {
      case 'pem':
        return [makeCredential(spec.certificate, spec.key, spec.tags)];
      case 'internal': {
        if (this.#authority === null) throw new Error(`there is no authority '${spec.authority}'`);
        const { chain, key } = await this.#authority.issue(spec);
        return [makeCredential(chain, key, [])];
      }
      default:
        return readCredentials(spec);
    }
  }
}
