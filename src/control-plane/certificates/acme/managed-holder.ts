/**
 * A certificate that somebody else issues: had in the background, renewed in time, shared with other nodes through the
 * storage. Whatever goes wrong, the old one serves on.
 */
import type { Timer } from '../../../shared/clock.ts';
import type { AcmeIssuerSpec, IssuerSpec, ManagedSpec } from '../../compile/managed-specs.ts';
import type { Credential } from '../pem.ts';
import { retryDelayMs } from './backoff.ts';
import { IssueError, messageOf } from './errors.ts';
import { issueByAcme, type Issued } from './issue.ts';
import { keepCertificate, readKeptCertificate } from './kept-certificates.ts';
import { askRenewalInfo, certificateId } from './renewal-info.ts';
import type { IssuanceWorld } from './world.ts';

/** While another node has the order. */
const LOCKED_RETRY_MS = 2000;
/** However late an authority wants it to be renewed: this share of its life is left for failures. */
const LAST_SHARE = 0.05;

export interface ManagedOutcome {
  readonly kind: 'issued' | 'renewed' | 'failed';
  readonly message: string;
}

export interface ManagedOptions {
  readonly spec: ManagedSpec;
  readonly world: IssuanceWorld;
  /** Between two looks. */
  readonly lookMs: number;
  /** Asked before each order; a rejection refuses it. */
  readonly permit: () => Promise<void>;
  readonly onOutcome: (holder: ManagedHolder, outcome: ManagedOutcome) => void;
}

interface Held {
  readonly credential: Credential;
  readonly issuer: IssuerSpec;
  /** Wall-clock milliseconds. */
  renewAt: number;
  /** Monotonic milliseconds at which the authority is asked again when it is to be renewed. */
  nextInfoAt: number;
}

export class ManagedHolder {
  readonly spec: ManagedSpec;
  readonly #options: ManagedOptions;
  readonly #closed = new AbortController();
  #held: Held | null = null;
  #running: Promise<void> | null = null;
  #retryAt = 0;
  #lookAt = 0;
  #inARow = 0;
  #timer: Timer | null = null;
  #lastFailure = '';
  renewals = 0;
  failures = 0;
  warned = false;

  constructor(options: ManagedOptions) {
    this.#options = options;
    this.spec = options.spec;
  }

  get credentials(): readonly Credential[] {
    return this.#held === null ? [] : [this.#held.credential];
  }

  get label(): string {
    return this.spec.name;
  }

  get expiresAt(): number {
    return this.#held?.credential.notAfter ?? Infinity;
  }

  /** Why there is no new one; '' = nothing went wrong. */
  get lastFailure(): string {
    return this.#lastFailure;
  }

  /** What the storage has. Never rejects: without one the name is served as soon as there is one. */
  async open(): Promise<void> {
    try {
      await this.#adoptKept();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Begins what is due, in the background. */
  refresh(): Promise<'same'> {
    if (this.#isDue()) void this.attempt();
    return Promise.resolve('same');
  }

  /** Settles when the attempt is over, however it went. Attempts at the same time are one. */
  attempt(): Promise<void> {
    this.#running ??= this.#attempt().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  close(): void {
    this.#closed.abort(new Error('the name is not wanted any more'));
    this.#timer?.cancel();
  }

  #isDue(): boolean {
    const { clock } = this.#options.world;
    const now = clock.now();
    if (this.#running !== null || this.#closed.signal.aborted || now < this.#retryAt) return false;
    if (this.#held === null) return true;
    if (now < this.#lookAt) return false;
    this.#lookAt = now + this.#options.lookMs;
    return now >= this.#held.nextInfoAt || clock.wall() >= this.#held.renewAt;
  }

  async #attempt(): Promise<void> {
    const { world } = this.#options;
    try {
      const held = this.#held;
      if (held !== null) await world.gate.run(() => this.#askInfo(held));
      if (this.#isFresh()) return;
      await world.gate.run(() => this.#obtain());
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#fail(error);
    }
  }

  #isFresh(): boolean {
    return this.#held !== null && this.#options.world.clock.wall() < this.#held.renewAt;
  }

  async #obtain(): Promise<void> {
    const { world } = this.#options;
    if (this.#closed.signal.aborted || (await this.#adoptFresh())) return;
    const lock = await world.locks.take(`issue_${this.spec.name}`);
    if (lock === null) {
      this.#tryAgainIn(LOCKED_RETRY_MS);
      return;
    }
    try {
      // The node that had the lock may have left one.
      if (await this.#adoptFresh()) return;
      await this.#options.permit();
      await this.#issueFromAny();
    } finally {
      await lock.release();
    }
  }

  async #issueFromAny(): Promise<void> {
    const failures: string[] = [];
    let retryAfterMs = 0;
    for (const issuer of this.spec.issuers) {
      try {
        const issued = await this.#issueFrom(issuer);
        await keepCertificate(this.#options.world.storage, issuer, this.spec.name, issued);
        if (!(await this.#adoptKept())) throw new Error('the issued certificate has expired already');
        return;
      } catch (error) {
        failures.push(`${describeIssuer(issuer)}: ${messageOf(error)}`);
        if (error instanceof IssueError) retryAfterMs = Math.max(retryAfterMs, error.retryAfterMs);
        this.#closed.signal.throwIfAborted();
      }
    }
    throw new IssueError(failures.join('; '), retryAfterMs);
  }

  async #issueFrom(issuer: IssuerSpec): Promise<Issued> {
    const { world } = this.#options;
    const { name } = this.spec;
    if (issuer.kind === 'internal') {
      const authority = world.authority(issuer.authority);
      if (authority === null) throw new Error(`there is no authority '${issuer.authority}'`);
      return authority.issue({ name, lifetimeMs: issuer.lifetimeMs, signWithRoot: issuer.signWithRoot });
    }
    const deps = { storage: world.storage, challenges: world.challenges, wall: () => world.clock.wall() };
    const replaces = await this.#replacedBy(issuer);
    const request = { name, terms: this.spec, replaces, signal: this.#closed.signal };
    return issueByAcme(issuer, request, deps);
  }

  /** Only an authority with renewal info knows the field, and only for its own certificates. */
  async #replacedBy(issuer: AcmeIssuerSpec): Promise<string> {
    const held = this.#held;
    if (held?.issuer.kind !== 'acme' || held.issuer.directory !== issuer.directory || !this.#hasInfo) return '';
    return certificateId(held.credential.plan.chain);
  }

  #hasInfo = false;

  async #askInfo(held: Held): Promise<void> {
    const { clock, random } = this.#options.world;
    if (held.issuer.kind !== 'acme' || clock.now() < held.nextInfoAt) return;
    const { directory, trustedRoots } = held.issuer;
    const id = await certificateId(held.credential.plan.chain);
    const info = await askRenewalInfo(directory, trustedRoots, id, { random, wallMs: clock.wall() });
    held.nextInfoAt = clock.now() + info.nextLookMs;
    this.#hasInfo = info.renewAt !== null;
    if (info.renewAt === null) return;
    const { notBefore, notAfter } = held.credential;
    held.renewAt = Math.min(info.renewAt, notAfter - (notAfter - notBefore) * LAST_SHARE);
  }

  async #adoptFresh(): Promise<boolean> {
    const before = this.#held?.credential.plan.id;
    return (await this.#adoptKept()) && this.#held?.credential.plan.id !== before && this.#isFresh();
  }

  /** False = there is none that can be used. */
  async #adoptKept(): Promise<boolean> {
    const { world } = this.#options;
    const { name, issuers, renewalShare } = this.spec;
    const kept = await readKeptCertificate(world.storage, issuers, name, world.clock.wall());
    if (kept === null) return false;
    const before = this.#held;
    if (before?.credential.plan.id === kept.credential.plan.id) return true;
    await world.beforeUse(kept.credential);
    if (this.#closed.signal.aborted) return false;
    const { notBefore, notAfter } = kept.credential;
    const renewAt = notAfter - (notAfter - notBefore) * renewalShare;
    const nextInfoAt = kept.issuer.kind === 'acme' ? world.clock.now() : Infinity;
    this.#held = { ...kept, renewAt, nextInfoAt };
    this.#inARow = 0;
    this.#lastFailure = '';
    this.warned = false;
    if (before !== null) this.renewals += 1;
    const what = before === null ? `has a certificate` : 'has a new certificate';
    const kind = before === null ? 'issued' : 'renewed';
    this.#options.onOutcome(this, { kind, message: `${name} ${what} of ${describeIssuer(kept.issuer)}` });
    return true;
  }

  #fail(error: unknown): void {
    const { random, firstRetryMs } = this.#options.world;
    this.failures += 1;
    this.#inARow += 1;
    const asked = error instanceof IssueError ? error.retryAfterMs : 0;
    const delayMs = retryDelayMs(this.#inARow, asked, random, firstRetryMs);
    this.#tryAgainIn(delayMs);
    this.#lastFailure = messageOf(error);
    const rest = this.#held === null ? 'it has none yet' : 'the old certificate serves on';
    const again = `next attempt in ${Math.ceil(delayMs / 1000)} s`;
    const message = `no certificate for ${this.spec.name}: ${this.#lastFailure}; ${rest}, ${again}`;
    this.#options.onOutcome(this, { kind: 'failed', message });
  }

  #tryAgainIn(delayMs: number): void {
    const { clock } = this.#options.world;
    this.#retryAt = clock.now() + delayMs;
    this.#lookAt = 0;
    this.#timer?.cancel();
    if (this.#closed.signal.aborted) return;
    this.#timer = clock.after(delayMs, () => void this.refresh());
  }
}

function describeIssuer(issuer: IssuerSpec): string {
  return issuer.kind === 'acme' ? new URL(issuer.directory).host : `the authority '${issuer.authority}'`;
}
