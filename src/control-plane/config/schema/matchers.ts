/** Matcher sets of a route: every matcher of a set must hold (AND); one set of a list is enough (OR). */
import { z } from 'zod';
import { hasPlaceholder, ipRange } from './patterns.ts';
import { list, mapOf, NOT_YET, notYet, object, orNull, text, textLike } from './primitives.ts';

export interface MatcherSetConfig {
  readonly host: readonly string[] | null;
  readonly path: readonly string[] | null;
  readonly method: readonly string[] | null;
  readonly query: Readonly<Record<string, readonly string[]>> | null;
  /** An empty list = present, null = absent. */
  readonly header: Readonly<Record<string, readonly string[] | null>> | null;
  readonly protocol: string | null;
  readonly remote_ip: { readonly ranges: readonly string[] } | null;
  readonly client_ip: { readonly ranges: readonly string[] } | null;
  readonly not: readonly MatcherSetConfig[] | null;
}

const ranges = object({ ranges: list(ipRange()) });

function literal(word: string): z.ZodType<string> {
  return text(`the text of a ${word}`).refine((value) => !hasPlaceholder(value), {
    error: `'placeholders in ${word} matchers' is not supported yet`,
    params: { [NOT_YET]: true },
  });
}

export const matcherSetSchema: z.ZodType<MatcherSetConfig> = object({
  host: orNull(list(literal('host'))),
  path: orNull(list(literal('path'))),
  method: orNull(list(text('a request method'))),
  query: orNull(mapOf(list(text('a query value')))),
  header: orNull(mapOf(list(text('a header value')).nullable())),
  protocol: orNull(
    textLike(/^(https?|grpc|http\/(1\.0|1\.1|2|3)\+?)$/, "'http', 'https', 'grpc' or a version such as 'http/1.1+'"),
  ),
  remote_ip: orNull(ranges),
  client_ip: orNull(ranges),
  not: orNull(list(z.lazy(() => matcherSetSchema))),
  path_regexp: notYet('path_regexp'),
  header_regexp: notYet('header_regexp'),
  expression: notYet('expression'),
  vars: notYet('vars'),
  vars_regexp: notYet('vars_regexp'),
  file: notYet('file'),
  tls: notYet('tls'),
  url_pattern: notYet('url_pattern'),
});
