/** What a worker keeps for its next TLS handshakes with upstreams: contexts, and sessions to be resumed. */
import type { SecureContext } from 'node:tls';
import { createUpstreamContext, systemRoots } from '../../shared/net/upstream-tls.ts';
import type { UpstreamTlsPlan } from '../../shared/plan/upstream-tls.ts';

/** Ways of speaking TLS; one that is pushed out is made again, which takes some 10 ms. */
const MAX_CONTEXTS = 64;
/** Servers; a session that is pushed out costs a full handshake. */
const MAX_SESSIONS = 4096;

export class TlsMemory {
  /** By identity, the one used last at the end. */
  readonly #contexts = new Map<string, SecureContext>();
  /** By the key of a connection. */
  readonly #sessions = new Map<string, Buffer>();
  #roots: string[] | null = null;

  contextOf(plan: UpstreamTlsPlan): SecureContext {
    const known = this.#contexts.get(plan.identity);
    const context = known ?? createUpstreamContext(plan, () => (this.#roots ??= systemRoots()));
    put(this.#contexts, plan.identity, context, MAX_CONTEXTS);
    return context;
  }

  sessionFor(key: string): Buffer | undefined {
    return this.#sessions.get(key);
  }

  keepSession(key: string, session: Buffer): void {
    put(this.#sessions, key, session, MAX_SESSIONS);
  }

  /** A server that refused one is not offered it again. */
  forgetSession(key: string): void {
    this.#sessions.delete(key);
  }
}

/** Puts a value at the end; the first one makes room. */
function put<T>(map: Map<string, T>, key: string, value: T, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
