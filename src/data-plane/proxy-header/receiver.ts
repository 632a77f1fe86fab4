/** Whose PROXY headers an HTTP server takes, compiled. PURE. */
import { compilePrefixes, type PrefixSet } from '../../shared/net/cidr.ts';
import { parseIp } from '../../shared/net/ip.ts';
import type { ProxyHeaderPlan, ProxyHeaderPolicy } from '../../shared/plan/proxy-header.ts';

export class ProxyHeaderReceiver {
  readonly timeoutMs: number;
  readonly #deny: PrefixSet;
  readonly #allow: PrefixSet;
  readonly #fallback: ProxyHeaderPolicy;

  /** Throws `ConfigError` for ranges that are none. */
  constructor(plan: ProxyHeaderPlan) {
    this.timeoutMs = plan.timeoutMs;
    this.#deny = compilePrefixes(plan.deny);
    this.#allow = compilePrefixes(plan.allow);
    this.#fallback = plan.fallback;
  }

  /** `address`: of the TCP peer. Who comes over a Unix socket has none, and runs on this machine: its header counts. */
  policyFor(address: string | undefined): ProxyHeaderPolicy {
    const peer = parseIp(address ?? '');
    if (peer === null) return 'use';
    if (this.#deny.contains(peer)) return 'reject';
    return this.#allow.contains(peer) ? 'use' : this.#fallback;
  }
}
