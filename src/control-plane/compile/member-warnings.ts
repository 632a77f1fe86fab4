/** Options of upstreams that will not do what they are written for. */
import type { PolicyPlan } from '../../shared/plan/types.ts';
import type { Compilation } from './compilation.ts';
import type { MemberSpec } from './compiled.ts';

/** Policies whose order or arithmetic is that of places: a weight is 0 or it is nothing. */
const COUNTING_PLACES: readonly PolicyPlan['policy'][] = Object.freeze(['round_robin', 'first']);

/** `path` is the JSON path of the handler. */
export function warnMembers(
  run: Compilation,
  path: string,
  policy: PolicyPlan,
  members: readonly MemberSpec[],
  queued: boolean,
): void {
  const ignoring = policyWithoutWeights(policy);
  const place = (index: number, field: string): string => `${path}.upstreams.${index}.${field}`;
  if (ignoring !== null) {
    const weighted = members.findIndex(({ weight }) => weight !== undefined && weight !== 0);
    if (weighted >= 0)
      run.warn(place(weighted, 'weight'), 'weight', `${ignoring} pays no attention to weights${REMEDY}`);
    const slow = members.findIndex(({ slowStartMs }) => slowStartMs !== undefined);
    if (slow >= 0) run.warn(place(slow, 'slow_start'), 'slow_start', `${ignoring} knows no slow start${REMEDY}`);
  }
  if (queued && members.every(({ maxRequests }) => maxRequests === undefined)) {
    run.warn(`${path}.load_balancing.queue`, 'lb_queue', 'lb_queue has no effect: no upstream has max_requests');
  }
  if (members.length > 0 && members.every(({ backup }) => backup === true)) {
    run.warn(place(0, 'backup'), 'backup', 'every upstream is a backup, so none is: backup has no effect');
  }
}

const REMEDY =
  ': use weighted_round_robin, random, least_conn, source_hash or a rendezvous hash (ip_hash { mapping rendezvous })';

/** The policy of the chain that ignores weights, in words; null = all of them count. */
function policyWithoutWeights(policy: PolicyPlan): string | null {
  if (COUNTING_PLACES.includes(policy.policy)) return policy.policy;
  if (policy.policy === 'ip_hash' && policy.mapping === 'modulo') return 'ip_hash (hash mod N)';
  return 'fallback' in policy ? policyWithoutWeights(policy.fallback) : null;
}
