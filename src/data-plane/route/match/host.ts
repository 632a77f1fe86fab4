import { domainToASCII } from 'node:url';
import { isAscii } from '../bytes.ts';
import type { Matcher, PlanOf } from './matcher.ts';

/**
 * `*` stands for one whole label: `*.example.com` takes `a.example.com`, not `a.b.example.com`. Any case.
 */
export function compileHost(plan: PlanOf<'host'>): Matcher {
  const patterns = plan.hosts.map(normalHost);
  const exact = new Set(patterns.filter((pattern) => !isWildcardHost(pattern)));
  const wildcards = patterns.filter(isWildcardHost).map((pattern) => pattern.split('.'));
  if (wildcards.length === 0) return (request) => exact.has(request.host);
  return (request) => exact.has(request.host) || matchesLabels(wildcards, request.host.split('.'));
}

/** A pattern as it is compared with `RequestView.host`: lower case, no brackets, non-ASCII labels as `xn--…`. */
export function normalHost(pattern: string): string {
  const bare = pattern.startsWith('[') && pattern.endsWith(']') ? pattern.slice(1, -1) : pattern;
  if (isAscii(bare)) return bare.toLowerCase();
  return bare
    .split('.')
    .map((label) => (isAscii(label) ? label.toLowerCase() : domainToASCII(label)))
    .join('.');
}

export function isWildcardHost(pattern: string): boolean {
  return pattern.includes('*');
}

/** One of the patterns fits, label by label. */
export function matchesLabels(patterns: readonly (readonly string[])[], labels: readonly string[]): boolean {
  return patterns.some(
    (pattern) =>
      pattern.length === labels.length && pattern.every((label, index) => label === '*' || label === labels[index]),
  );
}
