/** From the name in braces to what it stands for. */
import { ConfigError } from '../../../shared/config-error.ts';
import { toBytes } from '../bytes.ts';
import type { RequestView } from '../request-view.ts';
import { encodePathPart } from '../value-encoding.ts';
import { errorPlaceholder } from './error.ts';
import type { Placeholder, ProcessFacts } from './placeholder.ts';
import { processPlaceholder } from './process.ts';
import { requestPlaceholder } from './request.ts';
import { shutdownPlaceholder } from './shutdown.ts';

const PROXY = 'http.reverse_proxy.';
const REGEXP = 'http.regexp.';
const USER = 'http.auth.user.id';

/** Names of Caddy's that would silently be empty here. */
const UNSUPPORTED: readonly string[] = [
  'file.',
  'http.intercept.',
  'http.matchers.',
  'http.request.body',
  'http.request.duration',
  'http.request.tls.',
  'http.response.',
];

/** null for a name nobody knows. Throws `ConfigError` for one that Caddy knows and we do not have. */
export function findPlaceholder(name: string, facts: ProcessFacts): Placeholder | null {
  if (name.startsWith(PROXY)) return { read: (request) => request.proxyValue(name), isProxyValue: true };
  if (name.startsWith(REGEXP)) return capture(toBytes(name.slice(REGEXP.length)));
  const found = requestPlaceholder(name) ?? errorPlaceholder(name) ?? processPlaceholder(name, facts);
  if (found !== null) return found;
  const shutdown = shutdownPlaceholder(name, facts.shutdown);
  if (shutdown !== null) return shutdown;
  if (name === USER) return { read: (request) => toBytes(request.notes?.user ?? '') };
  if (facts.mapped?.has(name)) return { read: (request) => request.notes?.mapped(name, request) };
  if (UNSUPPORTED.some((prefix) => name.startsWith(prefix))) {
    throw new ConfigError(`placeholder {${name}} is not supported; remove it`);
  }
  return null;
}

/**
 * What a group of a matcher caught, '' when nothing did. It was decoded before it was matched, so in a target its
 * percent and question marks are data and are escaped again.
 */
function capture(key: string): Placeholder {
  const read = (request: RequestView): string => request.notes?.captures.get(key) ?? '';
  return { read, readRaw: (request) => encodePathPart(read(request)) };
}
