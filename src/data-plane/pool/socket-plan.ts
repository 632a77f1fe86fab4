import type { TransportPlan } from '../../shared/plan/types.ts';

/** What a pool says about its sockets. */
export type SocketPlan = Pick<TransportPlan, 'localAddress' | 'readTimeoutMs' | 'writeTimeoutMs' | 'keepAliveProbeMs'>;

/** Between keep-alive probes of TCP, where the pool says nothing. */
export const KEEP_ALIVE_PROBE_MS = 15_000;

/** Connections with the same key may stand in for each other. */
export function idleKey(slot: number, localAddress: string | undefined): number | string {
  return localAddress === undefined ? slot : `${slot} ${localAddress}`;
}
