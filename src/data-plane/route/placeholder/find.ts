/** From the name in braces to what it stands for. */
import { ConfigError } from '../../../shared/config-error.ts';
import type { Placeholder, ProcessFacts } from './placeholder.ts';
import { processPlaceholder } from './process.ts';
import { requestPlaceholder } from './request.ts';

const PROXY = 'http.reverse_proxy.';

/** Names of Caddy's that would silently be empty here. */
const UNSUPPORTED: readonly string[] = [
  'file.',
  'http.error.',
  'http.intercept.',
  'http.matchers.',
  'http.regexp.',
  'http.request.body',
  'http.request.duration',
  'http.request.tls.',
  'http.response.',
  'http.shutting_down',
  'http.time_until_shutdown',
];

/** null for a name nobody knows. Throws `ConfigError` for one that Caddy knows and we do not have. */
export function findPlaceholder(name: string, facts: ProcessFacts): Placeholder | null {
  if (name.startsWith(PROXY)) return { read: (request) => request.proxyValue(name), isProxyValue: true };
  const found = requestPlaceholder(name) ?? processPlaceholder(name, facts);
  if (found !== null) return found;
  if (UNSUPPORTED.some((prefix) => name.startsWith(prefix))) {
    throw new ConfigError(`placeholder {${name}} is not supported; remove it`);
  }
  return null;
}
