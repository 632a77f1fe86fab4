/** Certificates of public authorities, and those had on demand: what they share, and what lives longer than a config. */
import { systemRandom, type Random } from '../../shared/random.ts';
import type { Clock } from '../../shared/clock.ts';
import { ConfigError } from '../../shared/config-error.ts';
import type { Logger } from '../../shared/log.ts';
import type { CertificatePlan } from '../../shared/plan/tls.ts';
import { NOTHING_ISSUED, type IssuancePlan, type ManagedSpec } from '../compile/managed-specs.ts';
import { cleanKeptCertificates } from './acme/kept-certificates.ts';
import { ManagedHolder, type ManagedOptions } from './acme/managed-holder.ts';
import { OnDemand } from './acme/on-demand.ts';
import { FIRST_RETRY_MS } from './acme/backoff.ts';
import { FileStorage, MemoryStorage } from './acme/storage.ts';
import { makeWorld, type IssuanceWorld } from './acme/world.ts';
import type { Authority } from './authority.ts';
import type { Credential } from './pem.ts';

/** An expired certificate is kept this long: somebody may want to know what it was. */
const CLEAN_GRACE_MS = 14 * 86_400_000;

export interface IssuanceDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: Random;
  readonly dataDir: string | undefined;
  /** Wait before a second attempt. Default one minute. */
  readonly firstRetryMs?: number;
  authority(id: string): Authority | null;
  beforeUse(credential: Credential): Promise<void>;
  onOutcome: ManagedOptions['onOutcome'];
  /** Other certificates are to be served. */
  onChange(): void;
}

export class Issuance {
  readonly #deps: IssuanceDeps;
  readonly #worlds = new Map<string, IssuanceWorld>();
  readonly #onDemand: OnDemand;
  /** Programs that configs from the command line, or from the program that embeds this, have named. */
  readonly #programs = new Set<string>();
  #next: IssuancePlan = NOTHING_ISSUED;
  #inForce: IssuancePlan = NOTHING_ISSUED;
  #cleanAt = 0;

  constructor(deps: IssuanceDeps) {
    this.#deps = deps;
    this.#onDemand = new OnDemand({
      clock: deps.clock,
      makeHolder: ({ spec, permit }) => this.#makeHolder(this.#inForce, spec, permit),
      onChange: () => deps.onChange(),
      warn: (message) => deps.log.warn(message),
    });
  }

  /** Throws a `ConfigError` for a program that nobody with a right to it has named. */
  prepare(plan: IssuancePlan, mayRunPrograms: boolean): void {
    for (const { path, place } of plan.programs) {
      if (mayRunPrograms) this.#programs.add(path);
      if (this.#programs.has(path)) continue;
      throw new ConfigError(
        `the program ${path} may be run only when it is named in the file given on the command line: restart with it, at ${place}`,
      );
    }
    this.#next = plan;
  }

  activate(): void {
    this.#inForce = this.#next;
    this.#onDemand.use(this.#inForce.onDemand, this.#inForce.ask);
  }

  holderFor(spec: ManagedSpec): ManagedHolder {
    return this.#makeHolder(this.#next, spec, () => Promise.resolve());
  }

  get onDemandHolders(): readonly ManagedHolder[] {
    return this.#onDemand.holders;
  }

  /** Never rejects. */
  async answerHttp(token: string): Promise<string | null> {
    for (const { challenges } of this.#worlds.values()) {
      const answer = await challenges.answerHttp(token);
      if (answer !== null) return answer;
    }
    return null;
  }

  /** Never rejects. */
  async answerAlpn(name: string): Promise<CertificatePlan | null> {
    for (const { challenges } of this.#worlds.values()) {
      const answer = await challenges.answerAlpn(name);
      if (answer !== null) return answer;
    }
    return null;
  }

  want(name: string): Promise<void> {
    return this.#onDemand.want(name);
  }

  /** Removes what expired long ago, from time to time. Never rejects. */
  async clean(): Promise<void> {
    const { clock, log } = this.#deps;
    if (clock.now() < this.#cleanAt) return;
    this.#cleanAt = clock.now() + this.#inForce.cleanIntervalMs;
    for (const { storage } of this.#worlds.values()) {
      try {
        await cleanKeptCertificates(storage, clock.wall(), CLEAN_GRACE_MS);
      } catch (error) {
        log.warn('expired certificates could not be removed from the storage', { error });
      }
    }
  }

  stop(): void {
    this.#onDemand.close();
  }

  #makeHolder(plan: IssuancePlan, spec: ManagedSpec, permit: ManagedOptions['permit']): ManagedHolder {
    const { onOutcome } = this.#deps;
    return new ManagedHolder({ spec, world: this.#worldOf(plan), lookMs: plan.renewIntervalMs, permit, onOutcome });
  }

  /** Kept after the config that named it: its orders may still run. */
  #worldOf({ storage: configured }: IssuancePlan): IssuanceWorld {
    const { clock, log, random, dataDir, firstRetryMs } = this.#deps;
    const root = configured ?? dataDir ?? '';
    const known = this.#worlds.get(root);
    if (known !== undefined) return known;
    if (root === '') {
      log.warn(
        'certificates and accounts are kept in memory only: a restart orders all of them anew (give it a data directory)',
      );
    }
    const world = makeWorld({
      clock,
      random: random ?? systemRandom,
      storage: root === '' ? new MemoryStorage() : new FileStorage(root),
      firstRetryMs: firstRetryMs ?? FIRST_RETRY_MS,
      authority: (id) => this.#deps.authority(id),
      beforeUse: (credential) => this.#deps.beforeUse(credential),
    });
    this.#worlds.set(root, world);
    return world;
  }
}
