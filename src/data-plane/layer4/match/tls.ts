import type { Layer4MatcherPlan } from '../../../shared/plan/layer4.ts';
import { isWildcardHost, matchesLabels, normalHost } from '../../route/match/host.ts';
import { MORE, NO, YES } from '../answer.ts';
import type { FlowMatcher } from '../flow-view.ts';

/** The connection begins with a ClientHello that asks for one of the names and offers one of the protocols. */
export function compileTls(plan: Extract<Layer4MatcherPlan, { readonly kind: 'tls' }>): FlowMatcher {
  const isAsked = compileNames(plan.sni);
  const { alpn } = plan;
  return (view) => {
    const { hello } = view;
    if (hello === NO || hello === MORE || hello === YES) return hello;
    if (!isAsked(hello.serverName)) return NO;
    return alpn.length === 0 || hello.alpn.some((name) => alpn.includes(name)) ? YES : NO;
  };
}

/** `*` stands for one whole label. No names at all = any, also none. */
export function compileNames(names: readonly string[]): (name: string) => boolean {
  if (names.length === 0) return () => true;
  const patterns = names.map(normalHost);
  const exact = new Set(patterns.filter((pattern) => !isWildcardHost(pattern)));
  const wildcards = patterns.filter(isWildcardHost).map((pattern) => pattern.split('.'));
  return (name) => exact.has(name) || (wildcards.length > 0 && matchesLabels(wildcards, name.split('.')));
}
