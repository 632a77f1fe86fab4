/**
 * Keeps totals of upstreams from going down. The table counts by address, metrics by upstream, and
 * the addresses of an upstream change with its name: what an address counted while it belonged to
 * the upstream stays in the upstream's sum.
 */
interface UpstreamTotals {
  /** Sum over all addresses the upstream ever had, by word. */
  readonly sum: Float64Array;
  /** What each address showed when last read; insertion order = age. */
  readonly seen: Map<string, Float64Array>;
}

/**
 * Addresses remembered per upstream. An address that comes back after this many others counts from
 * its total again, which is right when its slot was cleared meanwhile.
 */
const REMEMBERED_ADDRESSES = 64;

export class UpstreamCounters {
  readonly #words: number;
  readonly #upstreams = new Map<string, UpstreamTotals>();

  /** `words`: how many totals a slot has. */
  constructor(words: number) {
    this.#words = words;
  }

  /** Takes the totals `address` shows now. A total below the last one means that its slot was cleared. */
  add(upstream: string, address: string, totals: Float64Array): void {
    const { sum, seen } = this.#of(upstream);
    const before = seen.get(address);
    for (let word = 0; word < this.#words; word += 1) {
      const now = totals[word] ?? 0;
      const last = before?.[word] ?? 0;
      sum[word]! += now >= last ? now - last : now;
    }
    seen.delete(address);
    seen.set(address, totals);
    if (seen.size > REMEMBERED_ADDRESSES) seen.delete(seen.keys().next().value!);
  }

  /** The upstream's totals so far, by word. */
  totals(upstream: string): Float64Array {
    return this.#of(upstream).sum;
  }

  /** Forgets every upstream the config no longer names: its series end. */
  keepOnly(upstreams: ReadonlySet<string>): void {
    for (const upstream of this.#upstreams.keys()) {
      if (!upstreams.has(upstream)) this.#upstreams.delete(upstream);
    }
  }

  #of(upstream: string): UpstreamTotals {
    let entry = this.#upstreams.get(upstream);
    if (entry === undefined) {
      entry = { sum: new Float64Array(this.#words), seen: new Map() };
      this.#upstreams.set(upstream, entry);
    }
    return entry;
  }
}
