import type { StateTable } from '../../shared/state-table/table.ts';
import { FACT_CONNECTIONS, FACT_IN_FLIGHT } from '../../shared/state-table/layout.ts';
import type { Clock } from '../../shared/clock.ts';
import { joinHostPort } from '../../shared/net/address.ts';
import { RowAllocator } from './row-allocator.ts';

/** One address and its row. */
export interface Slot {
  readonly row: number;
  /** `ip:port`, brackets around IPv6; `udp/ip:port`. */
  readonly address: string;
  readonly host: string;
  readonly port: number;
  /** Endpoints of members that have this address. 0 = nobody names it. */
  users: number;
}

/** As it is shown, patched and found. */
export function slotAddress(host: string, port: number, network: 'tcp' | 'udp' = 'tcp'): string {
  return network === 'udp' ? `udp/${joinHostPort(host, port)}` : joinHostPort(host, port);
}

export interface SlotsDeps {
  readonly table: StateTable;
  readonly clock: Clock;
  grow(row: number): void;
  /** Nobody names the slot any more. */
  onForget(slot: Slot): void;
}

/**
 * Slots by address. A slot outlives reloads, and for a while its last user, so that an address that
 * comes back meanwhile finds its counters.
 */
export class Slots {
  readonly #deps: SlotsDeps;
  readonly #byAddress: Map<string, Slot> = new Map();
  readonly #byRow: Map<number, Slot> = new Map();
  readonly #rows: RowAllocator;

  constructor(deps: SlotsDeps) {
    this.#deps = deps;
    const { table } = deps;
    this.#rows = new RowAllocator({
      clock: deps.clock,
      grow: deps.grow,
      // Idle connections count too: closing one later would take from the next owner's word.
      idle: (row) => table.sumFacts(row, FACT_IN_FLIGHT) === 0 && table.sumFacts(row, FACT_CONNECTIONS) === 0,
      clear: (row) => this.#clear(row),
    });
  }

  get rowCount(): number {
    return this.#rows.size;
  }

  /** The slot of an address; one user more. What runs over UDP is another server than what runs over TCP. */
  hold(host: string, port: number, network: 'tcp' | 'udp' = 'tcp'): Slot {
    const address = slotAddress(host, port, network);
    const slot = this.#byAddress.get(address) ?? this.#create(address, host, port);
    if (slot.users === 0) this.#rows.revive(slot.row);
    slot.users += 1;
    return slot;
  }

  release(slot: Slot): void {
    slot.users -= 1;
    if (slot.users > 0) return;
    this.#rows.give(slot.row);
    this.#deps.onForget(slot);
  }

  find(address: string): Slot | undefined {
    const slot = this.#byAddress.get(address);
    return slot !== undefined && slot.users > 0 ? slot : undefined;
  }

  at(row: number): Slot | undefined {
    return this.#byRow.get(row);
  }

  *inUse(): IterableIterator<Slot> {
    for (const slot of this.#byAddress.values()) if (slot.users > 0) yield slot;
  }

  #create(address: string, host: string, port: number): Slot {
    const slot: Slot = { row: this.#rows.take(), address, host, port, users: 0 };
    this.#byAddress.set(address, slot);
    this.#byRow.set(slot.row, slot);
    return slot;
  }

  /** The row gets another owner: forget the old address, zero every word. */
  #clear(row: number): void {
    const { table } = this.#deps;
    const old = this.#byRow.get(row);
    if (old !== undefined) {
      this.#byRow.delete(row);
      this.#byAddress.delete(old.address);
    }
    table.slots.clear(row);
    for (let lane = 0; lane < table.laneCount; lane += 1) {
      if (table.facts(lane).capacity > row) table.facts(lane).clear(row);
    }
  }
}
