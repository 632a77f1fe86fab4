/** The policies of one server, compiled. */
import { createHash } from 'node:crypto';
import type { TlsPlan, TlsPolicyPlan } from '../../shared/plan/tls.ts';
import { matchesName } from '../../shared/net/host-pattern.ts';

export interface TlsPolicy {
  /** Hash of all it says: equal policies share contexts and sessions, others do not. */
  readonly key: string;
  readonly plan: TlsPolicyPlan;
}

export class TlsPolicies {
  readonly handshakeTimeoutMs: number;
  readonly strictSniHost: boolean;
  readonly #listeners: ReadonlySet<string>;
  readonly #policies: readonly TlsPolicy[];

  constructor(plan: TlsPlan) {
    this.handshakeTimeoutMs = plan.handshakeTimeoutMs;
    this.strictSniHost = plan.strictSniHost;
    this.#listeners = new Set(plan.listeners);
    this.#policies = plan.policies.map((policy) => ({ key: keyOf(policy), plan: policy }));
  }

  speaks(listenerKey: string): boolean {
    return this.#listeners.has(listenerKey);
  }

  /** null = no policy is for this name. */
  find(serverName: string): TlsPolicy | null {
    const matches = ({ plan: { sni, defaultSni } }: TlsPolicy): boolean => {
      return (
        sni.length === 0 || sni.some((pattern) => matchesName(pattern, serverName === '' ? defaultSni : serverName))
      );
    };
    return this.#policies.find(matches) ?? null;
  }
}

function keyOf(policy: TlsPolicyPlan): string {
  return createHash('sha256').update(JSON.stringify(policy)).digest('hex').slice(0, 32);
}
