import type { RowAllocator } from './row-allocator.ts';

interface ServerRow {
  readonly row: number;
  readonly generations: Set<number>;
}

/** Rows of servers by name, those of HTTP or those of layer 4: a server of the same name goes on counting over reloads. */
export class ServerRows {
  readonly #allocator: RowAllocator;
  readonly #rows: Map<string, ServerRow> = new Map();

  constructor(allocator: RowAllocator) {
    this.#allocator = allocator;
  }

  hold(name: string, generation: number): void {
    const known = this.#rows.get(name) ?? { row: this.#allocator.take(), generations: new Set() };
    known.generations.add(generation);
    this.#rows.set(name, known);
  }

  release(generation: number): void {
    for (const [name, { row, generations }] of this.#rows) {
      if (!generations.delete(generation) || generations.size > 0) continue;
      this.#rows.delete(name);
      this.#allocator.give(row);
    }
  }

  /** Name → row of one generation. */
  of(generation: number): ReadonlyMap<string, number> {
    const named = [...this.#rows].filter(([, { generations }]) => generations.has(generation));
    return new Map(named.map(([name, { row }]) => [name, row]));
  }
}
