/** Matcher sets of a layer-4 route: every matcher of a set must hold (AND); one set of a list is enough (OR). */
import { z } from 'zod';
import { hasPlaceholder, ipRange } from '../patterns.ts';
import { list, NOT_YET, notYet, object, orNull, text } from '../primitives.ts';

/** null = not written. */
export interface Layer4MatcherSetConfig {
  readonly remote_ip: { readonly ranges: readonly string[] } | null;
  readonly tls: { readonly sni: readonly string[]; readonly alpn: readonly string[] } | null;
  /** Alternatives; an empty list = any request. */
  readonly http: readonly HttpMatcherConfig[] | null;
  readonly ssh: object | null;
  readonly not: readonly Layer4MatcherSetConfig[] | null;
}

/** Empty lists = any. */
export interface HttpMatcherConfig {
  readonly host: readonly string[];
  readonly path: readonly string[];
  readonly method: readonly string[];
}

/** Matchers of caddy-l4 that this version has not. */
export const NOT_YET_LAYER4_MATCHERS: readonly string[] = Object.freeze([
  'clock',
  'dns',
  'local_ip',
  'openvpn',
  'postgres',
  'proxy_protocol',
  'quic',
  'rdp',
  'regexp',
  'remote_ip_list',
  'socks4',
  'socks5',
  'vars',
  'vars_regexp',
  'winbox',
  'wireguard',
  'xmpp',
]);

/** Matchers of requests that need more than the head's first lines. */
const NOT_YET_HTTP: readonly string[] = Object.freeze([
  'client_ip',
  'expression',
  'header',
  'header_regexp',
  'not',
  'path_regexp',
  'protocol',
  'query',
  'remote_ip',
  'vars',
  'vars_regexp',
]);

/** Conditions on a ClientHello that this version has not. */
const NOT_YET_TLS: readonly string[] = Object.freeze(['local_ip', 'remote_ip', 'sni_regexp']);

function refused(names: readonly string[], where: string): Record<string, z.ZodType<undefined>> {
  return Object.fromEntries(names.map((name) => [name, notYet(`${name} (${where})`)]));
}

function literal(word: string): z.ZodType<string> {
  return text(`the text of ${word}`).refine((value) => !hasPlaceholder(value), {
    error: `'placeholders in ${word}' is not supported yet`,
    params: { [NOT_YET]: true },
  });
}

const tls = object({
  sni: list(literal('a server name')).default([]),
  alpn: list(literal('a protocol name')).default([]),
  ...refused(NOT_YET_TLS, 'in a layer4 tls matcher'),
});

const http = object({
  host: list(literal('a host name')).default([]),
  path: list(literal('a path')).default([]),
  method: list(literal('a request method')).default([]),
  ...refused(NOT_YET_HTTP, 'in a layer4 http matcher'),
});

export const layer4MatcherSetSchema: z.ZodType<Layer4MatcherSetConfig> = object({
  remote_ip: orNull(object({ ranges: list(ipRange()) })),
  tls: orNull(tls),
  http: orNull(list(http)),
  ssh: orNull(object({})),
  not: orNull(list(z.lazy(() => layer4MatcherSetSchema))),
  ...refused(NOT_YET_LAYER4_MATCHERS, 'layer4 matcher'),
});
