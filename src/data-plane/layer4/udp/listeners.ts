/** All UDP listeners of a worker. */
import type { Socket } from 'node:dgram';
import type { SectionHash } from '../../../shared/plan/types.ts';
import { UdpListener, type UdpPlan, type UdpWorld } from './listener.ts';

export class UdpListeners {
  readonly #world: UdpWorld;
  readonly #listeners = new Map<string, UdpListener>();
  readonly #told = new Set<string>();
  #draining = false;

  constructor(world: UdpWorld) {
    // A range of ports is many listeners with the same troubles.
    this.#world = { ...world, warn: (message, fields) => this.#tellOnce(message, () => world.warn(message, fields)) };
  }

  #tellOnce(message: string, tell: () => void): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    tell();
  }

  get sessions(): number {
    let sum = 0;
    for (const { sessions } of this.#listeners.values()) sum += sessions;
    return sum;
  }

  /** Begins to read from a bound socket. `plan` null: no config in force has the listener, so it is closed. */
  listen(key: string, socket: Socket, plan: UdpPlan | null): void {
    if (plan === null) {
      socket.close();
      return;
    }
    const listener = new UdpListener(this.#world, key, socket, plan);
    listener.draining = this.#draining;
    this.#listeners.set(key, listener);
  }

  unlisten(key: string): void {
    this.#listeners.get(key)?.close();
    this.#listeners.delete(key);
  }

  /** Another config is in force. A listener it does not have is closed by whoever opened it. */
  follow(planOf: (key: string) => UdpPlan | null): void {
    for (const listener of this.#listeners.values()) {
      const plan = planOf(listener.key);
      if (plan !== null) listener.follow(plan);
    }
  }

  /** As `UdpListener.cutSlots`. */
  cutSlots(slots: readonly number[], pool: SectionHash | null = null): void {
    const cut = new Set(slots);
    for (const listener of this.#listeners.values()) listener.cutSlots(cut, pool);
  }

  /** No new sessions from now on. */
  drain(): void {
    this.#draining = true;
    for (const listener of this.#listeners.values()) listener.draining = true;
  }

  closeAll(): void {
    for (const key of [...this.#listeners.keys()]) this.unlisten(key);
  }
}
