import { isIP } from 'node:net';
import type { Clock } from '../../shared/clock.ts';
import { unixPath } from '../../shared/net/address.ts';
import type { Lookup, LookupAnswer } from './lookup.ts';
import { NameWatch } from './name-watch.ts';

/** Lookups of the system resolver occupy one of libuv's four threads each; leave some for files. */
const MAX_LOOKUPS = 3;

export interface NamesDeps {
  readonly clock: Clock;
  readonly lookup: Lookup;
  /** `recovered`: the question before this one failed. */
  onChange(name: WatchedName, before: readonly string[], after: readonly string[], recovered: boolean): void;
  onFailure(name: WatchedName, error: string): void;
}

/** A name as asked of some resolvers, with everybody who wants to know. */
export interface WatchedName {
  readonly key: string;
  readonly host: string;
  /** Sorted, without duplicates. */
  addresses(): readonly string[];
  /** Why it does not resolve now, ''. */
  error(): string;
}

interface Entry extends WatchedName {
  readonly watch: NameWatch;
  users: number;
}

/** All names in use. Each is asked once, however many upstreams have it. */
export class Names {
  readonly #deps: NamesDeps;
  readonly #entries: Map<string, Entry> = new Map();
  readonly #waiting: (() => void)[] = [];
  #lookups = 0;
  #refreshMs: number | null = null;

  constructor(deps: NamesDeps) {
    this.#deps = deps;
  }

  /** Longest time between two questions for a name, milliseconds; null: 30 s, or by the TTL where there is one. */
  setRefresh(refreshMs: number | null): void {
    if (refreshMs === this.#refreshMs) return;
    this.#refreshMs = refreshMs;
    for (const { watch } of this.#entries.values()) watch.reschedule();
  }

  /** One user more. An IP address or Unix socket is its own answer and is never asked about. */
  hold(host: string, resolvers: readonly string[]): WatchedName {
    if (isIP(host) !== 0 || unixPath(host) !== null) return literal(host);
    const key = `${host} ${resolvers.join()}`;
    const entry = this.#entries.get(key) ?? this.#create(key, host, resolvers);
    entry.users += 1;
    return entry;
  }

  release(name: WatchedName): void {
    const entry = this.#entries.get(name.key);
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.users > 0) return;
    entry.watch.stop();
    this.#entries.delete(entry.key);
  }

  /** Resolves when each of these has an answer, or failed once. Those that have one are not asked. */
  async settle(names: Iterable<WatchedName>): Promise<void> {
    const asked = [...new Set(names)].filter((name) => name.addresses().length === 0);
    await Promise.all(asked.map(async (name) => this.#entries.get(name.key)?.watch.refresh()));
  }

  /** Keeps the name fresh from now on. */
  start(name: WatchedName): void {
    this.#entries.get(name.key)?.watch.start();
  }

  /** Stops asking about all names but these. */
  stopOthers(wanted: ReadonlySet<WatchedName>): void {
    for (const entry of this.#entries.values()) if (!wanted.has(entry)) entry.watch.stop();
  }

  /** A dial to one of its addresses failed: ask soon. */
  hurry(name: WatchedName): void {
    this.#entries.get(name.key)?.watch.hurry();
  }

  stop(): void {
    for (const entry of this.#entries.values()) entry.watch.stop();
  }

  #create(key: string, host: string, resolvers: readonly string[]): Entry {
    const watch = new NameWatch({
      clock: this.#deps.clock,
      refreshMs: () => this.#refreshMs,
      ask: () => this.ask(host, resolvers),
      // An answer can come after the last user left: nobody wants to hear it.
      onChange: (before, after, recovered) => {
        if (entry.users > 0) this.#deps.onChange(entry, before, after, recovered);
      },
      onFailure: (error) => {
        if (entry.users > 0) this.#deps.onFailure(entry, error);
      },
    });
    const entry: Entry = { key, host, watch, users: 0, addresses: () => watch.addresses, error: () => watch.error };
    this.#entries.set(key, entry);
    return entry;
  }

  /** One question outside all watches, under the same cap of questions at a time. */
  async ask(host: string, resolvers: readonly string[]): Promise<LookupAnswer> {
    if (this.#lookups >= MAX_LOOKUPS) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#lookups += 1;
    try {
      return await this.#deps.lookup(host, resolvers);
    } finally {
      // The place goes straight to the next in line, so nobody can slip in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#lookups -= 1;
      else next();
    }
  }
}

function literal(host: string): WatchedName {
  const addresses: readonly string[] = [host];
  return { key: host, host, addresses: () => addresses, error: () => '' };
}
