import type { SecureContext } from 'node:tls';
import { createUpstreamContext, systemRoots } from '../../shared/net/upstream-tls.ts';
import type { UpstreamTlsPlan } from '../../shared/plan/upstream-tls.ts';
import type { ProbeTls } from './probe-spec.ts';

/** TLS as a probe needs it to begin. */
export interface ReadyTls {
  /** '' = the upstream's own. */
  readonly serverName: string;
  readonly verify: boolean;
  /** Ports that are spoken to in the clear all the same. */
  readonly exceptPorts: readonly number[];
  /** Made at the first call. */
  readonly context: () => SecureContext;
}

/** Makes contexts once a definition, and reads the authorities of the system once in all. */
export class TlsContexts {
  #roots: string[] | null = null;

  ready(tls: ProbeTls | null): ReadyTls | null {
    if (tls === null) return null;
    const plan = planOf(tls);
    let context: SecureContext | null = null;
    return {
      serverName: tls.serverName,
      verify: !tls.insecure,
      exceptPorts: plan.exceptPorts,
      context: () => (context ??= createUpstreamContext(plan, () => (this.#roots ??= systemRoots()))),
    };
  }
}

function planOf({ traffic, insecure }: ProbeTls): UpstreamTlsPlan {
  if (traffic !== undefined) return traffic;
  return {
    identity: '',
    verify: !insecure,
    serverName: '',
    trusted: null,
    certificate: null,
    handshakeTimeoutMs: 0,
    curves: '',
    exceptPorts: [],
  };
}
