/** Certificates that are had when a client first asks for a name. */
import { matchesName } from '../../../shared/net/host-pattern.ts';
import { parseIp } from '../../../shared/net/ip.ts';
import type { Clock, Timer } from '../../../shared/clock.ts';
import type { ManagedSpec, OnDemandSpec } from '../../compile/managed-specs.ts';
import { askWeb } from '../web-question.ts';
import { messageOf } from './errors.ts';
import type { ManagedHolder, ManagedOptions } from './managed-holder.ts';

/** Certificates in memory; those in the storage come back when they are asked for. */
const MAX_HELD = 10_000;
/** Names that are had, or asked about, at the same time. */
const MAX_RUNNING = 500;
const MAX_REFUSED = 10_000;
/** Whoever was refused is not asked about again for this long. */
const REFUSED_MS = 10_000;
const ASK_TIMEOUT_MS = 10_000;
const MAX_ASK_BYTES = 1024 * 1024;
/** A client waits no longer; the order goes on. */
const CLIENT_WAIT_MS = 80_000;
/** RFC 1035 section 2.3.4; an underscore is in no host name. */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

export interface OnDemandDeps {
  readonly clock: Clock;
  makeHolder(options: Pick<ManagedOptions, 'spec' | 'permit'>): ManagedHolder;
  /** One more, or one fewer. */
  onChange(): void;
  warn(message: string): void;
}

interface Known {
  readonly key: string;
  readonly holder: ManagedHolder;
}

export class OnDemand {
  readonly #deps: OnDemandDeps;
  readonly #known = new Map<string, Known>();
  readonly #running = new Map<string, Promise<void>>();
  /** Name → monotonic milliseconds until which it is not asked about. */
  readonly #refused = new Map<string, number>();
  #specs: readonly OnDemandSpec[] = [];
  #ask: string | null = null;

  constructor(deps: OnDemandDeps) {
    this.#deps = deps;
  }

  get holders(): readonly ManagedHolder[] {
    return [...this.#known.values()].map(({ holder }) => holder);
  }

  /** A config is in force. Certificates whose terms it changes are forgotten; the storage has them. */
  use(specs: readonly OnDemandSpec[], ask: string | null): void {
    this.#specs = specs;
    this.#ask = ask;
    this.#refused.clear();
    for (const [name, { key }] of this.#known) {
      const spec = this.#specFor(name);
      if (spec === null || keyOf(spec) !== key) this.#forget(name);
    }
  }

  /** Settles when there is a certificate, or will be none for this client. Never rejects. */
  async want(name: string): Promise<void> {
    const known = this.#known.get(name);
    if (known !== undefined && known.holder.credentials.length > 0) return;
    const spec = this.#specFor(name);
    if (spec === null || this.#isRefused(name)) return;
    const running = this.#running.get(name);
    if (running === undefined && this.#running.size >= MAX_RUNNING) return;
    await this.#atMost(running ?? this.#begin(name, spec));
  }

  close(): void {
    for (const { holder } of this.#known.values()) holder.close();
  }

  #begin(name: string, spec: OnDemandSpec): Promise<void> {
    const run = this.#obtain(name, spec)
      .catch((error: unknown) => {
        this.#refuse(name);
        this.#deps.warn(`no certificate for ${name} on demand: ${messageOf(error)}`);
      })
      .finally(() => this.#running.delete(name));
    this.#running.set(name, run);
    return run;
  }

  async #obtain(name: string, spec: OnDemandSpec): Promise<void> {
    const known = this.#known.get(name);
    if (known !== undefined) return this.#again(known.holder);
    await this.#permit(name);
    const { issuers, keyType, mustStaple, renewalShare, place } = spec;
    const managed: ManagedSpec = { source: 'acme', name, issuers, keyType, mustStaple, renewalShare, place };
    const holder = this.#deps.makeHolder({ spec: managed, permit: () => this.#permit(name) });
    this.#known.set(name, { key: keyOf(spec), holder });
    const oldest = this.#known.size > MAX_HELD ? this.#known.keys().next().value : undefined;
    if (oldest !== undefined) this.#forget(oldest);
    await holder.open();
    if (holder.credentials.length === 0) await holder.attempt();
    await this.#again(holder);
  }

  /** Attempts of a holder have a back-off of their own; meanwhile clients are refused. */
  async #again(holder: ManagedHolder): Promise<void> {
    if (holder.credentials.length > 0) return;
    await holder.refresh();
    if (holder.lastFailure !== '') this.#refuse(holder.spec.name);
  }

  /** Rejects when the name is not wanted. */
  async #permit(name: string): Promise<void> {
    if (this.#ask === null) return;
    const url = new URL(this.#ask);
    url.searchParams.set('domain', name);
    const { status } = await askWeb({ url: url.href, timeoutMs: ASK_TIMEOUT_MS, maxBytes: MAX_ASK_BYTES });
    if (status < 200 || status > 299) throw new Error(`${url.origin}${url.pathname} answered ${status}`);
  }

  #specFor(name: string): OnDemandSpec | null {
    const found = this.#specs.find(({ subjects }) => {
      return subjects.length === 0 || subjects.some((subject) => matchesName(subject, name));
    });
    return found !== undefined && HOST_NAME.test(name) && parseIp(name) === null ? found : null;
  }

  #isRefused(name: string): boolean {
    const until = this.#refused.get(name);
    if (until === undefined) return false;
    if (this.#deps.clock.now() < until) return true;
    this.#refused.delete(name);
    return false;
  }

  #refuse(name: string): void {
    const oldest = this.#refused.size < MAX_REFUSED ? undefined : this.#refused.keys().next().value;
    if (oldest !== undefined) this.#refused.delete(oldest);
    this.#refused.set(name, this.#deps.clock.now() + REFUSED_MS);
  }

  #forget(name: string): void {
    this.#known.get(name)?.holder.close();
    this.#known.delete(name);
    this.#deps.onChange();
  }

  async #atMost(work: Promise<void>): Promise<void> {
    let timer: Timer | null = null;
    const tooLong = new Promise<void>((resolve) => {
      timer = this.#deps.clock.after(CLIENT_WAIT_MS, resolve);
    });
    await Promise.race([work, tooLong]);
    (timer as Timer | null)?.cancel();
  }
}

function keyOf({ place: _place, ...spec }: OnDemandSpec): string {
  return JSON.stringify(spec);
}
