/**
 * Every certificate that is served: brought in before the config that needs it, renewed while it runs, taken away when
 * no config names it any more. Workers are told of changes; a reload is none.
 */
import { randomBytes } from 'node:crypto';
import type { Clock, Timer } from '../../shared/clock.ts';
import { ConfigError } from '../../shared/config-error.ts';
import type { Logger } from '../../shared/log.ts';
import type { ControlMessage } from '../../shared/messages.ts';
import type { CertificatePlan } from '../../shared/plan/tls.ts';
import type { AuthoritySpec, CertificateSpec, CompiledTls } from '../compile/compiled.ts';
import type { CertificateStatus, ControlEvent } from '../types.ts';
import { ManagedHolder, type ManagedOutcome } from './acme/managed-holder.ts';
import { Authority } from './authority.ts';
import { Holder } from './holder.ts';
import { Issuance } from './issuance.ts';
import { Stapler } from './ocsp/stapler.ts';

/** Files and lives of certificates are looked at this often. */
const LOOK_MS = 5000;
/** RFC 5077 section 5.5: keys of tickets are changed, so that a stolen one opens little. */
const TICKET_LIFE_MS = 12 * 3_600_000;
/** Node takes this many bytes: name, HMAC key and AES key. */
const TICKET_KEY_BYTES = 48;
/** A certificate that somebody else has to renew is warned of when this much of it is left. */
const WARN_BEFORE_MS = 14 * 86_400_000;

export interface CertificatesDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** undefined = authorities live as long as the process. */
  readonly dataDir: string | undefined;
  /** Wait before a certificate that could not be had is asked for again, at first. Default one minute. */
  readonly firstRetryMs?: number;
  broadcast(message: ControlMessage): void;
  onEvent(type: ControlEvent['type'], message: string, fields: ControlEvent['fields']): void;
}

export class Certificates {
  readonly #deps: CertificatesDeps;
  readonly #holders = new Map<string, Holder | ManagedHolder>();
  readonly #issuance: Issuance;
  readonly #stapler: Stapler;
  readonly #authorities = new Map<string, Authority>();
  /** What workers have. */
  #sent: ReadonlyMap<string, CertificatePlan> = new Map();
  /** Keys of the holders of the config in force, and of the one that is about to be. */
  #inForce: ReadonlySet<string> = new Set();
  #next: ReadonlySet<string> | null = null;
  #ticketKeys: Buffer = randomBytes(TICKET_KEY_BYTES);
  #ticketsUntil: number;
  #timer: Timer | null = null;
  #stopped = false;
  #authoritySpecs: readonly AuthoritySpec[] = [];
  #stapling = true;

  constructor(deps: CertificatesDeps) {
    this.#deps = deps;
    this.#stapler = new Stapler({ clock: deps.clock, log: deps.log });
    this.#issuance = new Issuance({
      ...deps,
      authority: (id) => this.#authorityById(id),
      beforeUse: (credential) => this.#stapler.fetchIfRequired(credential),
      onOutcome: (holder, outcome) => this.#onOutcome(holder, outcome),
      onChange: () => this.#tellWorkers(),
    });
    this.#ticketsUntil = deps.clock.now() + TICKET_LIFE_MS;
  }

  /** What a new worker is told before anything else. */
  greeting(): readonly ControlMessage[] {
    const add = [...this.#sent.values()];
    return [
      { type: 'ticket-keys', keys: this.#ticketKeys },
      ...(add.length > 0 ? [{ type: 'certificates', add, drop: [] } as const] : []),
    ];
  }

  /** Brings in what a config needs and tells the workers. Rejects with a `ConfigError`, and leaves nothing behind. */
  async prepare({ certificates, authorities, issuance }: CompiledTls, mayRunPrograms = false): Promise<void> {
    this.#issuance.prepare(issuance, mayRunPrograms);
    this.#authoritySpecs = authorities;
    this.#stapling = issuance.stapling;
    this.#next = new Set(certificates.map(keyOf));
    try {
      for (const spec of certificates) await this.#open(spec, authorities);
    } catch (error) {
      this.discard();
      throw error;
    }
    this.#tellWorkers();
  }

  /** The config that was prepared is in force. */
  activate(): void {
    if (this.#next === null) return;
    this.#inForce = this.#next;
    this.#issuance.activate();
    this.#forgetUnused();
    if (this.#timer === null) this.#schedule();
    void this.#look();
  }

  /** It is not to be. */
  discard(): void {
    this.#forgetUnused();
  }

  status(): readonly CertificateStatus[] {
    const onDemand = new Set<Holder | ManagedHolder>(this.#issuance.onDemandHolders);
    return this.#all().map((holder) => ({
      onDemand: onDemand.has(holder),
      source: holder.spec.source,
      label: holder.label,
      names: holder.credentials.flatMap(({ plan }) => plan.names),
      expiresAt: holder.expiresAt,
      renewals: holder.renewals,
      failures: holder.failures,
    }));
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#issuance.stop();
    for (const holder of this.#holders.values()) if (holder instanceof ManagedHolder) holder.close();
  }

  /** The answer to an HTTP-01 challenge; null = nobody asked for the token. Never rejects. */
  answerChallenge(token: string): Promise<string | null> {
    return this.#issuance.answerHttp(token);
  }

  /** What a client waits for: the result is the certificate of a challenge. Never rejects. */
  async want(name: string, challenge: boolean): Promise<CertificatePlan | null> {
    if (challenge) return this.#issuance.answerAlpn(name);
    // Workers are told of what it brings before it settles; a name that is refused must not cost a look at all others.
    await this.#issuance.want(name);
    return null;
  }

  async #open(spec: CertificateSpec, authorities: readonly AuthoritySpec[]): Promise<void> {
    const key = keyOf(spec);
    if (this.#holders.has(key)) return;
    if (spec.source === 'acme') {
      const managed = this.#issuance.holderFor(spec);
      this.#holders.set(key, managed);
      return managed.open();
    }
    const holder = new Holder(spec, this.#deps.clock, this.#authorityOf(spec, authorities));
    try {
      await holder.open();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new ConfigError(`no certificate for ${holder.label}: ${why}, at ${spec.place}`, null, { cause: error });
    }
    this.#holders.set(key, holder);
    if (spec.source === 'internal') this.#tell('certificate-issued', holder, `issued a certificate for ${spec.name}`);
    this.#warnOfEnd(holder);
  }

  #authorityOf(spec: CertificateSpec, authorities: readonly AuthoritySpec[]): Authority | null {
    return spec.source === 'internal' ? this.#openAuthority(authorities.find(({ id }) => id === spec.authority)) : null;
  }

  #authorityById(wanted: string): Authority | null {
    return this.#openAuthority(this.#authoritySpecs.find(({ id }) => id === wanted));
  }

  #openAuthority(found: AuthoritySpec | undefined): Authority | null {
    if (found === undefined) return null;
    const key = JSON.stringify(found);
    const known = this.#authorities.get(key);
    if (known !== undefined) return known;
    const { clock, dataDir, log } = this.#deps;
    if (dataDir === undefined && found.root === null) {
      log.warn(
        `the root of authority '${found.id}' is kept in memory only: after a restart clients have to trust another one`,
      );
    }
    const authority = new Authority(found, { clock, dataDir: dataDir ?? null });
    this.#authorities.set(key, authority);
    return authority;
  }

  #forgetUnused(): void {
    this.#next = null;
    for (const [key, holder] of [...this.#holders]) {
      if (this.#inForce.has(key)) continue;
      if (holder instanceof ManagedHolder) holder.close();
      this.#holders.delete(key);
    }
    this.#tellWorkers();
  }

  /** Two sources may give the same certificate, so it is the whole that is compared. */
  #tellWorkers(): void {
    const plans = this.#all().flatMap(({ credentials }) => credentials.map(({ plan }) => this.#stapler.staple(plan)));
    const now = new Map(plans.map((plan) => [plan.id, plan]));
    const add = [...now.values()].filter(({ id }) => !this.#sent.has(id));
    const drop = [...this.#sent.keys()].filter((id) => !now.has(id));
    this.#sent = now;
    if (add.length + drop.length > 0) this.#deps.broadcast({ type: 'certificates', add, drop });
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.after(LOOK_MS, () => {
      void this.#look().finally(() => this.#schedule());
    });
  }

  /** Files that changed, leaves that grew old, keys that served long enough. */
  async #look(): Promise<void> {
    if (this.#deps.clock.now() >= this.#ticketsUntil) this.#changeTicketKeys();
    for (const holder of this.#all()) {
      const outcome = await holder.refresh();
      if (outcome instanceof Error) {
        this.#tell('certificate-failed', holder, `${outcome.message}; the old certificate serves on`);
      } else if (outcome === 'new') {
        this.#tell('certificate-renewed', holder, `a new certificate for ${holder.label} is served`);
      }
      this.#warnOfEnd(holder);
    }
    this.#tellWorkers();
    if (this.#stapling) await this.#stapler.refresh(this.#all().flatMap(({ credentials }) => credentials));
    await this.#issuance.clean();
    this.#tellWorkers();
  }

  #all(): readonly (Holder | ManagedHolder)[] {
    return [...this.#holders.values(), ...this.#issuance.onDemandHolders];
  }

  #onOutcome(holder: ManagedHolder, { kind, message }: ManagedOutcome): void {
    this.#tell(`certificate-${kind}`, holder, message);
    this.#tellWorkers();
  }

  #changeTicketKeys(): void {
    this.#ticketKeys = randomBytes(TICKET_KEY_BYTES);
    this.#ticketsUntil = this.#deps.clock.now() + TICKET_LIFE_MS;
    this.#deps.broadcast({ type: 'ticket-keys', keys: this.#ticketKeys });
  }

  #warnOfEnd(holder: Holder | ManagedHolder): void {
    const leftMs = holder.expiresAt - this.#deps.clock.wall();
    if (['internal', 'acme'].includes(holder.spec.source) || holder.warned || leftMs > WARN_BEFORE_MS) return;
    holder.warned = true;
    const when = new Date(holder.expiresAt).toISOString();
    const what = leftMs > 0 ? `expires at ${when}` : `has expired at ${when}`;
    this.#tell(
      'certificate-expiring',
      holder,
      `the certificate of ${holder.label} ${what}: put a new one in its place`,
    );
  }

  #tell(type: ControlEvent['type'], holder: Holder | ManagedHolder, message: string): void {
    const names = holder.credentials.flatMap(({ plan }) => plan.names).join(' ');
    this.#deps.onEvent(type, message, { certificate: holder.label, names, place: holder.spec.place });
  }
}

/** Where it was written says nothing of what it is. */
function keyOf({ place: _place, ...spec }: CertificateSpec): string {
  return JSON.stringify(spec);
}
