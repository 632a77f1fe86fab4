import type { Logger } from '../shared/log.ts';
import type { ControlEvent } from './types.ts';

/** Tells listeners what happened. One that throws is logged and does not keep the others from hearing. */
export class EventHub {
  readonly #log: Logger;
  readonly #listeners = new Set<(event: ControlEvent) => void>();

  constructor(log: Logger) {
    this.#log = log;
  }

  on(listener: (event: ControlEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: ControlEvent): void {
    const level = WARNINGS.has(event.type) ? 'warn' : 'info';
    this.#log[level](event.message, { event: event.type, ...event.fields });
    for (const listener of this.#listeners) this.#tell(listener, event);
  }

  #tell(listener: (event: ControlEvent) => void, event: ControlEvent): void {
    try {
      listener(event);
    } catch (error) {
      this.#log.error('an event listener threw', { error: String(error) });
    }
  }
}

const WARNINGS: ReadonlySet<ControlEvent['type']> = new Set([
  'reload-failed',
  'server-down',
  'best-effort-entered',
  'name-failed',
  'certificate-failed',
  'certificate-expiring',
  'worker-crashed',
  'worker-hung',
] as const);
