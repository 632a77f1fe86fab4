/** What the operator says about servers, and what that means for slots and members: `PATCH /upstreams/<address>`. */
import type { Clock } from '../../shared/clock.ts';
import {
  ADMIN_DRAIN,
  ADMIN_MAINT,
  ADMIN_READY,
  SLOT_ADMIN,
  SLOT_DRAIN_DEADLINE,
} from '../../shared/state-table/layout.ts';
import type { StateTable } from '../../shared/state-table/table.ts';
import type { AdminState, UpstreamPatch } from '../types.ts';
import { AdminStates, checkPatch, READY, type EffectiveAdmin } from './admin-states.ts';
import { adminChanged, drainEnded, type Happening } from './events.ts';
import type { Member } from './pool.ts';
import type { Pools } from './pools.ts';
import type { Slot } from './slots.ts';

const DEFAULT_WEIGHT = 1;
const ADMIN_WORDS: Readonly<Record<AdminState, number>> = {
  ready: ADMIN_READY,
  drain: ADMIN_DRAIN,
  maint: ADMIN_MAINT,
};

export interface OperatorDeps {
  readonly table: StateTable;
  readonly clock: Clock;
  /** Asked for after the constructor has returned. */
  readonly pools: () => Pools;
  /** The slot of an `ip:port` that is in use. */
  findSlot(address: string): Slot | undefined;
  /** The operator's deadline has passed on these slots. */
  onCut(slots: readonly number[]): void;
  onEvent(happening: Happening): void;
}

export class Operator {
  /** What was said. */
  readonly states: AdminStates;
  readonly #deps: OperatorDeps;

  constructor(deps: OperatorDeps) {
    this.#deps = deps;
    this.states = new AdminStates(deps.clock, (key) => this.#endDrain(key));
  }

  /** False when no generation names the address. Throws RangeError for a weight or drain time that makes no sense. */
  patch(address: string, patch: UpstreamPatch): boolean {
    const { members, slots } = this.#namedBy(address);
    if (members.size === 0) return false;
    checkPatch(patch);
    this.#deps.onEvent(adminChanged(address, patch));
    this.states.patch(address, patch);
    this.#changed(members, slots);
    return true;
  }

  adminOf(slot: Slot): EffectiveAdmin {
    if (this.states.empty) return READY;
    const upstreams = [...this.#deps.pools().membersAt(slot)].map((member) => member.spec.upstream);
    return this.states.effective([slot.address, ...upstreams]);
  }

  /** How far an address is open: past its drain deadline it is as closed as in maintenance. */
  openness(slot: Slot): AdminState {
    const { expired, state } = this.adminOf(slot);
    return expired ? 'maint' : state;
  }

  weightOf(member: Member): number {
    const configured = member.spec.weight ?? DEFAULT_WEIGHT;
    if (this.states.empty) return configured;
    const keys = [member.spec.upstream, ...member.endpoints.map(({ slot }) => slot.address)];
    return this.states.weight(keys) ?? configured;
  }

  /** Puts into the slot's words what holds for it now. */
  write(slot: Slot): void {
    const { slots } = this.#deps.table;
    slots.setTotal(slot.row, SLOT_DRAIN_DEADLINE, this.adminOf(slot).deadline);
    slots.store(slot.row, SLOT_ADMIN, ADMIN_WORDS[this.openness(slot)]);
  }

  /** The slot with this address or those of members with this text, and everybody who has one of them. */
  #namedBy(key: string): { readonly members: ReadonlySet<Member>; readonly slots: ReadonlySet<Slot> } {
    const pools = this.#deps.pools();
    const members = new Set<Member>();
    for (const pool of pools.all()) {
      for (const member of pool.members) if (member.spec.upstream === key) members.add(member);
    }
    const slots = new Set([...members].flatMap((member) => member.endpoints.map(({ slot }) => slot)));
    const addressed = this.#deps.findSlot(key);
    if (addressed !== undefined) slots.add(addressed);
    for (const slot of slots) for (const member of pools.membersAt(slot)) members.add(member);
    return { members, slots };
  }

  #endDrain(key: string): void {
    const { members, slots } = this.#namedBy(key);
    const expired = new Set([...slots].filter((slot) => this.adminOf(slot).expired));
    if (expired.size === 0) return;
    this.#changed(members, expired);
    this.#deps.onEvent(drainEnded(key));
    this.#deps.onCut([...expired].map((slot) => slot.row));
  }

  #changed(members: ReadonlySet<Member>, slots: ReadonlySet<Slot>): void {
    for (const slot of slots) this.write(slot);
    for (const member of members) this.#deps.pools().refresh(member.pool, [member]);
  }
}
