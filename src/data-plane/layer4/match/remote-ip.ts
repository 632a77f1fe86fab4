import { compilePrefixes } from '../../../shared/net/cidr.ts';
import type { Layer4MatcherPlan } from '../../../shared/plan/layer4.ts';
import { NO, YES } from '../answer.ts';
import type { FlowMatcher } from '../flow-view.ts';

/** A client without an IP address (Unix socket) is in no range. Throws `ConfigError` for what is no prefix. */
export function compileRemoteIp(plan: Extract<Layer4MatcherPlan, { readonly kind: 'remote_ip' }>): FlowMatcher {
  const ranges = compilePrefixes(plan.ranges);
  return ({ client }) => (client !== null && ranges.contains(client) ? YES : NO);
}
