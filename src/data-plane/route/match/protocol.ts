import { ConfigError } from '../../../shared/config-error.ts';
import type { Matcher, PlanOf } from './matcher.ts';

const never: Matcher = () => false;

/** A `+` means that version or a later one. Versions that no listener speaks are known words that never match. */
const TESTS: Readonly<Record<string, Matcher>> = Object.freeze({
  http: ({ scheme }) => scheme === 'http',
  https: ({ scheme }) => scheme === 'https',
  grpc: ({ head }) => (head.find('content-type') ?? '').startsWith('application/grpc'),
  'http/1.0': ({ head }) => head.version === 10,
  'http/1.0+': ({ head }) => head.version >= 10,
  'http/1.1': ({ head }) => head.version === 11,
  'http/1.1+': ({ head }) => head.version >= 11,
  'http/2': ({ head }) => head.version === 20,
  'http/2+': ({ head }) => head.version >= 20,
  'http/3': never,
  'http/3+': never,
});

/** Throws `ConfigError` for a word that is none of these. */
export function compileProtocol(plan: PlanOf<'protocol'>): Matcher {
  const word = plan.protocol.toLowerCase();
  const test = Object.hasOwn(TESTS, word) ? TESTS[word] : undefined;
  if (test !== undefined) return test;
  throw new ConfigError(`unknown protocol '${plan.protocol}' in a matcher; one of ${Object.keys(TESTS).join(', ')}`);
}
