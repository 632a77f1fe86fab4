import type { Clock } from '../../shared/clock.ts';
import { SERVER_CONNECTIONS, SERVER_IN_FLIGHT, type RowKind } from '../../shared/state-table/layout.ts';
import type { Rows, StateTable, TableChunk } from '../../shared/state-table/table.ts';
import { RowAllocator } from './row-allocator.ts';
import { Slots, type Slot } from './slots.ts';

/** Totals of workers that are gone; no worker owns it. */
const BASE_LANE = 0;

export interface RegistryDeps {
  readonly table: StateTable;
  readonly clock: Clock;
  /** A new chunk every worker has to get before a plan names its rows. */
  onChunk(chunk: TableChunk): void;
  onForget(slot: Slot): void;
}

/** The one place that hands out rows of the state table (except lanes, which the supervisor numbers). */
export class Registry {
  readonly slots: Slots;
  readonly checks: RowAllocator;
  readonly members: RowAllocator;
  readonly pools: RowAllocator;
  readonly servers: RowAllocator;
  readonly #table: StateTable;
  readonly #onChunk: (chunk: TableChunk) => void;
  readonly #lanes: Set<number> = new Set([BASE_LANE]);

  constructor(deps: RegistryDeps) {
    const { table, clock } = deps;
    this.#table = table;
    this.#onChunk = deps.onChunk;
    const plain = (kind: RowKind, rows: Rows): RowAllocator =>
      new RowAllocator({
        clock,
        grow: (row) => this.#grow(kind, row),
        idle: () => true,
        clear: (row) => rows.clear(row),
      });
    this.checks = plain('check', table.checks);
    this.members = plain('member', table.members);
    this.pools = plain('pool', table.pools);
    this.slots = new Slots({
      table,
      clock,
      grow: (row) => {
        this.#grow('slot', row);
        this.#growLanes('facts', row);
      },
      onForget: deps.onForget,
    });
    this.servers = new RowAllocator({
      clock,
      grow: (row) => this.#growLanes('server', row),
      idle: (row) =>
        this.#serverLanes(row).every(
          (rows) => rows.load(row, SERVER_IN_FLIGHT) === 0 && rows.load(row, SERVER_CONNECTIONS) === 0,
        ),
      clear: (row) => this.#serverLanes(row).forEach((rows) => rows.clear(row)),
    });
  }

  /** Rows of a new worker's lane. The chunks are returned only: the caller sends them to the other workers. */
  addLane(lane: number): TableChunk[] {
    this.#lanes.add(lane);
    const chunks = this.#table.grow('lane', 0, lane);
    if (this.slots.rowCount > 0) chunks.push(...this.#table.grow('facts', lane, this.slots.rowCount - 1));
    if (this.servers.size > 0) chunks.push(...this.#table.grow('server', lane, this.servers.size - 1));
    return chunks;
  }

  #grow(kind: RowKind, row: number): void {
    for (const chunk of this.#table.grow(kind, 0, row)) this.#onChunk(chunk);
  }

  #growLanes(kind: 'facts' | 'server', row: number): void {
    for (const lane of this.#lanes) {
      for (const chunk of this.#table.grow(kind, lane, row)) this.#onChunk(chunk);
    }
  }

  #serverLanes(row: number): Rows[] {
    return [...this.#lanes].map((lane) => this.#table.servers(lane)).filter((rows) => rows.capacity > row);
  }
}
