import type { TransportPlan } from '../../shared/plan/types.ts';
import type { Head } from '../http1/head.ts';
import { keepAliveHint } from '../http1/upstream-connection.ts';

/** How long a connection may idle: below what the upstream announces, or the next request races its close. */
export function idleTimeMs({ keepAliveIdleMs }: TransportPlan, head: Head): number {
  const hint = keepAliveHint(head);
  return hint < 0 ? keepAliveIdleMs : Math.min(keepAliveIdleMs, Math.max(0, hint * 1000 - 1000));
}
