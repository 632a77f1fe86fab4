/** A closed range of byte strings of one length, compared from the first byte on. */
export interface ByteRange {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
}

/**
 * Sorted, merged ranges in one flat array and a binary search over them: a list of ten thousand
 * prefixes costs fourteen comparisons, and IPv4 and IPv6 need no code of their own.
 */
export class RangeSet {
  readonly #width: number;
  readonly #count: number;
  /** Start and end of each range, one after the other. */
  readonly #bounds: Uint8Array;

  /** All bounds have the same length. */
  constructor(ranges: readonly ByteRange[]) {
    const merged = mergeRanges(ranges);
    this.#count = merged.length;
    this.#width = merged[0]?.start.length ?? 0;
    this.#bounds = new Uint8Array(merged.length * 2 * this.#width);
    merged.forEach(({ start, end }, index) => {
      this.#bounds.set(start, index * 2 * this.#width);
      this.#bounds.set(end, (index * 2 + 1) * this.#width);
    });
  }

  contains(bytes: Uint8Array): boolean {
    let low = 0;
    let high = this.#count - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.#compare(bytes, middle * 2) < 0) high = middle - 1;
      else if (this.#compare(bytes, middle * 2 + 1) > 0) low = middle + 1;
      else return true;
    }
    return false;
  }

  /** Below 0 when `bytes` come before the bound, above 0 when behind it. */
  #compare(bytes: Uint8Array, bound: number): number {
    const from = bound * this.#width;
    for (let at = 0; at < this.#width; at += 1) {
      const difference = bytes[at]! - this.#bounds[from + at]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }
}

/** Sorts by start and joins ranges that overlap; a binary search needs them apart. */
function mergeRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const sorted = ranges.toSorted((a, b) => Buffer.compare(a.start, b.start));
  const merged: ByteRange[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last === undefined || Buffer.compare(range.start, last.end) > 0) merged.push(range);
    else if (Buffer.compare(range.end, last.end) > 0) merged[merged.length - 1] = { start: last.start, end: range.end };
  }
  return merged;
}
