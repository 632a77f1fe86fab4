/** A client's connection as the worker sees it, whatever is spoken over it. */
import type { HttpServer } from './server.ts';

export interface ClientConnection {
  readonly listenerKey: string;
  /** Its listener is still served, and its handshake would be held to the same policy today. */
  mayStay(server: HttpServer | undefined): boolean;
  /** The listener or the worker goes away: what runs is finished, and for `idleMs` what is on its way is still answered. */
  retire(idleMs: number): void;
  /** The grace period is over: what ran is counted and logged, then both sides see a reset. */
  abort(): void;
  /** The thread ends: RST. */
  reset(): void;
}
