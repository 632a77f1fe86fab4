import type { TransportPlan } from '../../shared/plan/types.ts';

/** What a pool says about its sockets. */
export type SocketPlan = Pick<TransportPlan, 'localAddress' | 'readTimeoutMs' | 'writeTimeoutMs'>;

/** Connections with the same key may stand in for each other. */
export function idleKey(slot: number, localAddress: string | undefined): number | string {
  return localAddress === undefined ? slot : `${slot} ${localAddress}`;
}
