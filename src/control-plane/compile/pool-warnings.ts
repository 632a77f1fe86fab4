/** Pools with affinity that cannot do what affinity promises. */
import type { PolicyPlan, SectionHash } from '../../shared/plan/types.ts';
import { unixPath } from '../../shared/net/address.ts';
import type { HeaderOpsConfig } from '../config/schema/header-ops.ts';
import type { Compilation } from './compilation.ts';
import type { CheckSpec, MemberSpec } from './compiled.ts';

const KEEPING_CLIENTS: readonly PolicyPlan['policy'][] = Object.freeze(['ip_hash', 'source_hash', 'cookie']);

/** `path` is the JSON path of the policy, `checkAdvice` what to write for a check; null = there is one. */
export function warnAffinity(
  run: Compilation,
  path: string,
  policy: PolicyPlan,
  size: number,
  checkAdvice: string | null,
): void {
  if (!KEEPING_CLIENTS.includes(policy.policy)) return;
  if (size === 1) {
    run.warn(path, 'lb_policy', `${policy.policy} has one upstream to choose from: every client goes there anyway`);
  } else if (checkAdvice !== null) {
    run.warn(
      path,
      'lb_policy',
      `${policy.policy} without active health checks: that an upstream is dead is found out by failing connections, ` +
        `for every request anew. Add ${checkAdvice}`,
    );
  }
}

/** A Unix socket has no port beside it that could be checked. `path` is the JSON path of the check. */
export function warnCheckPort(run: Compilation, path: string, check: CheckSpec, members: readonly MemberSpec[]): void {
  const socket = members.find(({ host }) => unixPath(host) !== null);
  if (check.port === null || socket === undefined) return;
  const word = path.endsWith('.active') ? 'health_port' : 'port';
  run.warn(`${path}.port`, word, `${word} means nothing for ${socket.upstream}: the socket itself is checked`);
}

/** Members that come and go change N, and hash mod N is another one for most clients. `path` is the JSON path of the policy. */
export function warnChangingSize(run: Compilation, path: string, policy: PolicyPlan): void {
  if (policy.policy !== 'ip_hash' || policy.mapping !== 'modulo') return;
  run.warn(
    path,
    'lb_policy',
    'ip_hash over dynamic upstreams moves most clients whenever DNS names one more or one less. ' +
      'Add mapping rendezvous, which moves only the share of that one',
  );
}

/** `path` is the JSON path of the `reverse_proxy` handler. */
export function warnSetCookie(run: Compilation, path: string, policy: PolicyPlan, response: HeaderOpsConfig): void {
  if (policy.policy !== 'cookie') return;
  const touched = [...Object.keys(response.set), ...response.delete];
  if (!touched.some((name) => name.toLowerCase() === 'set-cookie')) return;
  run.warn(
    `${path}.headers.response`,
    'header_down',
    "header_down Set-Cookie deletes the upstream's own cookies and leaves the affinity cookie as it was: " +
      `to change the attributes of ${policy.name}, use the options of lb_policy cookie (same_site, secure, path, …)`,
  );
}

/**
 * Pools of one site that set the same cookie overwrite each other's, and a client that uses both is moved
 * all the time. `path` is the JSON path of the site.
 */
export function warnSharedCookie(run: Compilation, path: string, pools: readonly SectionHash[]): void {
  const owners = new Set<string>();
  for (const hash of pools) {
    const policy = run.pools.get(hash)?.section.policy;
    if (policy?.policy !== 'cookie') continue;
    const cookie = JSON.stringify([policy.name, policy.path, policy.domain]);
    if (owners.has(cookie)) {
      run.warn(
        path,
        'lb_policy',
        `several pools of this site share the cookie ${policy.name}: each overwrites what the other has set, ` +
          'so clients of both lose their upstream. Give each a name of its own',
      );
    }
    owners.add(cookie);
  }
}
