/**
 * Sessions by client, in the order of their last datagram (PURE, HOT): finding, touching and dropping one
 * costs a map look-up and a few stores, and what was silent longest is always at hand. So a whole table needs
 * one deadline, whatever it holds.
 *
 * There are two orders: sessions whose client has answered the server (*proven*), and the others. A flood of
 * datagrams with invented sources makes only sessions of the second kind, and those make room first.
 */

/** What is kept in a table. The links belong to the table. */
export interface TableEntry<Self> {
  /** Names the client; unique in a table. */
  readonly key: string;
  /** Monotonic milliseconds of the last datagram in either direction, written by the table. */
  lastAt: number;
  /** The client sent again after an answer: its address is its own. Written by the table. */
  proven: boolean;
  /** The neighbour that was silent longer, and the one that was silent for a shorter time. */
  older: Self | null;
  newer: Self | null;
}

/** One order: the ends of a doubly linked list. */
interface Order<Entry> {
  oldest: Entry | null;
  newest: Entry | null;
}

export class SessionTable<Entry extends TableEntry<Entry>> {
  readonly #byKey = new Map<string, Entry>();
  readonly #unproven: Order<Entry> = { oldest: null, newest: null };
  readonly #proven: Order<Entry> = { oldest: null, newest: null };

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): Entry | undefined {
    return this.#byKey.get(key);
  }

  values(): IterableIterator<Entry> {
    return this.#byKey.values();
  }

  /** `key` must be new. */
  add(entry: Entry, now: number): void {
    this.#byKey.set(entry.key, entry);
    entry.lastAt = now;
    append(this.#orderOf(entry), entry);
  }

  /** A datagram passed. */
  touch(entry: Entry, now: number): void {
    entry.lastAt = now;
    const order = this.#orderOf(entry);
    if (order.newest === entry) return;
    unlink(order, entry);
    append(order, entry);
  }

  /** From now on it makes room only when no other kind is left. */
  prove(entry: Entry): void {
    unlink(this.#unproven, entry);
    entry.proven = true;
    append(this.#proven, entry);
  }

  delete(entry: Entry): void {
    if (!this.#byKey.delete(entry.key)) return;
    unlink(this.#orderOf(entry), entry);
  }

  /** Who makes room for a new session: silent longest, unproven ones first; null = the table is empty. */
  get leastWorthy(): Entry | null {
    return this.#unproven.oldest ?? this.#proven.oldest;
  }

  /** Who was silent longest of all; null = the table is empty. */
  get oldest(): Entry | null {
    const unproven = this.#unproven.oldest;
    const proven = this.#proven.oldest;
    if (unproven === null || proven === null) return unproven ?? proven;
    return unproven.lastAt <= proven.lastAt ? unproven : proven;
  }

  #orderOf(entry: Entry): Order<Entry> {
    return entry.proven ? this.#proven : this.#unproven;
  }
}

function append<Entry extends TableEntry<Entry>>(order: Order<Entry>, entry: Entry): void {
  entry.older = order.newest;
  entry.newer = null;
  if (order.newest === null) order.oldest = entry;
  else order.newest.newer = entry;
  order.newest = entry;
}

function unlink<Entry extends TableEntry<Entry>>(order: Order<Entry>, entry: Entry): void {
  if (entry.older === null) order.oldest = entry.newer;
  else entry.older.newer = entry.newer;
  if (entry.newer === null) order.newest = entry.older;
  else entry.newer.older = entry.older;
  entry.older = null;
  entry.newer = null;
}
