import type { Clock } from '../../shared/clock.ts';
import { joinHostPort } from '../../shared/net/address.ts';
import type { DynamicSourceSpec } from '../compile/compiled.ts';
import { mergeAddresses, type FamilyAddresses } from './addresses.ts';
import type { Lookup } from './lookup.ts';
import { SourceWatch, type SourceAnswer } from './source-watch.ts';
import type { SrvLookup } from './srv.ts';

export interface SourcesDeps {
  readonly clock: Clock;
  readonly lookup: Lookup;
  readonly lookupSrv: SrvLookup;
  onChange(source: WatchedSource): void;
  onFailure(source: WatchedSource, error: string): void;
}

/** A source of upstreams in DNS, with everybody who wants to know. */
export interface WatchedSource {
  readonly key: string;
  readonly spec: DynamicSourceSpec;
  readonly watch: SourceWatch;
}

interface Entry extends WatchedSource {
  users: number;
}

/** All sources in use. Each is asked once, however many pools have it, and keeps its answer over reloads. */
export class Sources {
  readonly #deps: SourcesDeps;
  readonly #entries: Map<string, Entry> = new Map();

  constructor(deps: SourcesDeps) {
    this.#deps = deps;
  }

  hold(spec: DynamicSourceSpec): WatchedSource {
    const key = JSON.stringify(spec);
    const entry = this.#entries.get(key) ?? this.#create(key, spec);
    entry.users += 1;
    return entry;
  }

  release(source: WatchedSource): void {
    const entry = this.#entries.get(source.key);
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.users > 0) return;
    entry.watch.stop();
    this.#entries.delete(entry.key);
  }

  /** Stops asking all sources but these. */
  stopOthers(wanted: ReadonlySet<WatchedSource>): void {
    for (const entry of this.#entries.values()) if (!wanted.has(entry)) entry.watch.stop();
  }

  stop(): void {
    for (const entry of this.#entries.values()) entry.watch.stop();
  }

  #create(key: string, spec: DynamicSourceSpec): Entry {
    const { clock, onChange, onFailure } = this.#deps;
    const watch = new SourceWatch({
      clock,
      refreshMs: spec.refreshMs,
      graceMs: spec.graceMs,
      ask: spec.kind === 'a' ? this.#askAddresses(spec) : () => this.#askTargets(spec),
      // An answer can come after the last user left: nobody wants to hear it.
      onChange: () => {
        if (entry.users > 0) onChange(entry);
      },
      onFailure: (error) => {
        if (entry.users > 0) onFailure(entry, error);
      },
    });
    const entry: Entry = { key, spec, watch, users: 0 };
    this.#entries.set(key, entry);
    return entry;
  }

  #askAddresses(spec: DynamicSourceSpec): () => Promise<SourceAnswer> {
    let known: FamilyAddresses = { ipv4: [], ipv6: [] };
    return async () => {
      const answer = await this.#deps.lookup(spec.name, spec.resolvers);
      const ipv4 = spec.ipv4 ? answer.ipv4 : [];
      const ipv6 = spec.ipv6 ? answer.ipv6 : [];
      if (ipv4 === null && ipv6 === null) return { upstreams: null, error: answer.error };
      const merged = mergeAddresses(known, { ...answer, ipv4, ipv6 });
      const upstreams = merged.addresses.map((address) => joinHostPort(address, spec.port));
      // An empty answer is a failure, and must not make us forget what a half of the next one may leave out.
      if (upstreams.length > 0) known = merged.known;
      return { upstreams, error: answer.error };
    };
  }

  async #askTargets(spec: DynamicSourceSpec): Promise<SourceAnswer> {
    const { targets, error } = await this.#deps.lookupSrv(spec.name, spec.resolvers);
    return { upstreams: targets?.map(({ host, port }) => joinHostPort(host, port)) ?? null, error };
  }
}
