import { CHUNK_BITS, CHUNK_MASK, CHUNK_ROWS, SHAPES, type RowKind } from './layout.ts';

/** One buffer of the table, as it is sent to a worker. */
export interface TableChunk {
  readonly kind: RowKind;
  /** The worker's lane for `facts` and `server`, 0 for the others. */
  readonly lane: number;
  /** Position of the chunk among those of its kind and lane. */
  readonly index: number;
  readonly buffer: SharedArrayBuffer;
}

/** Views on one chunk. */
interface ChunkViews {
  readonly ints: Int32Array;
  readonly doubles: Float64Array;
}

/** Rows of one kind (and lane): read and written by row number and word offset. */
export class Rows {
  readonly #intStride: number;
  readonly #doubleStride: number;
  readonly #chunks: ChunkViews[] = [];

  constructor(kind: RowKind) {
    this.#intStride = SHAPES[kind].ints;
    this.#doubleStride = SHAPES[kind].doubles;
  }

  get capacity(): number {
    return this.#chunks.length << CHUNK_BITS;
  }

  addChunk(buffer: SharedArrayBuffer): void {
    const intWords = this.#intStride * CHUNK_ROWS;
    this.#chunks.push({
      ints: new Int32Array(buffer, 0, intWords),
      doubles: new Float64Array(buffer, intWords * 4, this.#doubleStride * CHUNK_ROWS),
    });
  }

  /** Reads an Int32 word. */
  load(row: number, word: number): number {
    return Atomics.load(this.#chunk(row).ints, this.#intAt(row, word));
  }

  store(row: number, word: number, value: number): void {
    Atomics.store(this.#chunk(row).ints, this.#intAt(row, word), value);
  }

  /** Adds to an Int32 word and returns the value before. */
  add(row: number, word: number, delta: number): number {
    return Atomics.add(this.#chunk(row).ints, this.#intAt(row, word), delta);
  }

  /**
   * Settles when another thread calls `notify` on the Int32 word, or after `timeoutMs`; null when the word is
   * not `value` any more.
   */
  changed(row: number, word: number, value: number, timeoutMs: number): Promise<unknown> | null {
    const waiting = Atomics.waitAsync(this.#chunk(row).ints, this.#intAt(row, word), value, timeoutMs);
    return waiting.async ? waiting.value : null;
  }

  /** Wakes everybody who waits for the word to change. */
  notify(row: number, word: number): void {
    Atomics.notify(this.#chunk(row).ints, this.#intAt(row, word));
  }

  /** Writes `value` if the word is `expected`; returns the value before. */
  swap(row: number, word: number, expected: number, value: number): number {
    return Atomics.compareExchange(this.#chunk(row).ints, this.#intAt(row, word), expected, value);
  }

  /** Reads a Float64 word. */
  total(row: number, word: number): number {
    return this.#chunk(row).doubles[(row & CHUNK_MASK) * this.#doubleStride + word]!;
  }

  /** Adds to a Float64 word. Only its one writer may call this. */
  count(row: number, word: number, delta: number): void {
    this.#chunk(row).doubles[(row & CHUNK_MASK) * this.#doubleStride + word]! += delta;
  }

  setTotal(row: number, word: number, value: number): void {
    this.#chunk(row).doubles[(row & CHUNK_MASK) * this.#doubleStride + word] = value;
  }

  /** Sets every word of a row to zero. */
  clear(row: number): void {
    const { ints, doubles } = this.#chunk(row);
    const at = row & CHUNK_MASK;
    for (let word = 0; word < this.#intStride; word += 1) Atomics.store(ints, at * this.#intStride + word, 0);
    doubles.fill(0, at * this.#doubleStride, (at + 1) * this.#doubleStride);
  }

  #chunk(row: number): ChunkViews {
    return this.#chunks[row >> CHUNK_BITS]!;
  }

  #intAt(row: number, word: number): number {
    return (row & CHUNK_MASK) * this.#intStride + word;
  }
}

/** Kinds that exist once per lane. */
type LaneKind = 'facts' | 'server';
/** Kinds that exist once. */
type SharedKind = Exclude<RowKind, LaneKind>;

/** The state table as one thread sees it. The control plane makes it; workers attach to its chunks. */
export class StateTable {
  readonly lanes: Rows = new Rows('lane');
  readonly slots: Rows = new Rows('slot');
  readonly checks: Rows = new Rows('check');
  readonly members: Rows = new Rows('member');
  readonly pools: Rows = new Rows('pool');
  readonly #facts: Rows[] = [];
  readonly #servers: Rows[] = [];
  readonly #chunks: TableChunk[] = [];

  /** All chunks so far, for a worker that attaches now. */
  get chunks(): readonly TableChunk[] {
    return this.#chunks;
  }

  /** Number of lanes that have rows of either kind: a config without upstreams has no facts. */
  get laneCount(): number {
    return Math.max(this.#facts.length, this.#servers.length);
  }

  /** The rows of upstream facts of one lane. */
  facts(lane: number): Rows {
    return laneRows(this.#facts, lane, 'facts');
  }

  /** The rows of server facts of one lane. */
  servers(lane: number): Rows {
    return laneRows(this.#servers, lane, 'server');
  }

  /** Takes a chunk made by another thread (or by `grow`). Chunks of one kind and lane arrive in order. */
  attach(chunk: TableChunk): void {
    this.#rowsOf(chunk.kind, chunk.lane).addChunk(chunk.buffer);
    this.#chunks.push(chunk);
  }

  /** Makes sure that `row` exists; returns the chunks that were added, to be sent to every worker. */
  grow(kind: RowKind, lane: number, row: number): TableChunk[] {
    const rows = this.#rowsOf(kind, lane);
    const added: TableChunk[] = [];
    while (rows.capacity <= row) {
      const shape = SHAPES[kind];
      const bytes = CHUNK_ROWS * (shape.ints * 4 + shape.doubles * 8);
      const index = rows.capacity >> CHUNK_BITS;
      const chunk: TableChunk = { kind, lane, index, buffer: new SharedArrayBuffer(bytes) };
      this.attach(chunk);
      added.push(chunk);
    }
    return added;
  }

  /** An in-flight word summed over all lanes. */
  sumFacts(slot: number, word: number): number {
    let sum = 0;
    for (const rows of this.#facts) if (rows.capacity > slot) sum += rows.load(slot, word);
    return sum;
  }

  /** The rows of the lane that holds share number `nth` of a summed in-flight word, counted lane by lane; null = the sum is smaller. */
  factsHolding(slot: number, word: number, nth: number): Rows | null {
    let left = nth;
    for (const rows of this.#facts) {
      if (rows.capacity <= slot) continue;
      left -= rows.load(slot, word);
      if (left < 0) return rows;
    }
    return null;
  }

  /** A total summed over all lanes. */
  sumFactTotals(slot: number, word: number): number {
    let sum = 0;
    for (const rows of this.#facts) if (rows.capacity > slot) sum += rows.total(slot, word);
    return sum;
  }

  #rowsOf(kind: RowKind, lane: number): Rows {
    switch (kind) {
      case 'facts':
        return this.facts(lane);
      case 'server':
        return this.servers(lane);
      default:
        return this.#sharedRows(kind);
    }
  }

  #sharedRows(kind: SharedKind): Rows {
    switch (kind) {
      case 'lane':
        return this.lanes;
      case 'slot':
        return this.slots;
      case 'check':
        return this.checks;
      case 'member':
        return this.members;
      case 'pool':
        return this.pools;
    }
  }
}

function laneRows(all: Rows[], lane: number, kind: LaneKind): Rows {
  while (all.length <= lane) all.push(new Rows(kind));
  return all[lane]!;
}
