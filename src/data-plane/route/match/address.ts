import { compilePrefixes } from '../../../shared/net/cidr.ts';
import type { Matcher, PlanOf } from './matcher.ts';

/** The TCP peer, or the source of its PROXY header. Throws `ConfigError` for what is no prefix. */
export function compileRemoteIp(plan: PlanOf<'remote_ip'>): Matcher {
  const ranges = compilePrefixes(plan.ranges);
  return ({ peer }) => peer !== null && ranges.contains(peer);
}

/** The derived client address. Throws `ConfigError` for what is no prefix. */
export function compileClientIp(plan: PlanOf<'client_ip'>): Matcher {
  const ranges = compilePrefixes(plan.ranges);
  return ({ client }) => client !== null && ranges.contains(client);
}
