/** Matcher sets of a route: every matcher of a set must hold (AND); one set of a list is enough (OR). */
import { z } from 'zod';
import { fieldMap } from './header-ops.ts';
import { hasPlaceholder, ipRange, re2Pattern } from './patterns.ts';
import { accept, describe, list, mapOf, NOT_YET, notYet, object, orNull, text, textLike } from './primitives.ts';

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
  /** The text of a CEL expression. */
  readonly expression: string | null;
  readonly path_regexp: RegexpConfig | null;
  readonly header_regexp: Readonly<Record<string, RegexpConfig>> | null;
  /** Name of a variable, or a placeholder → accepted values. */
  readonly vars: Readonly<Record<string, readonly string[]>> | null;
  readonly vars_regexp: Readonly<Record<string, RegexpConfig>> | null;
  readonly not: readonly MatcherSetConfig[] | null;
}

interface RegexpConfig {
  /** Of the captures; '' = none. */
  readonly name: string;
  readonly pattern: string;
}

const regexp = object({
  name: textLike(/^[\w.-]*$/, 'a name of letters, digits, dots, - and _').default(''),
  pattern: re2Pattern(),
});

const variableValue = accept('a text, a number or true/false', (found) => {
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean'
    ? String(found)
    : undefined;
});

const expressionObject = object({ expr: text('an expression'), name: text().optional() });

const ranges = object({ ranges: list(ipRange()) });

function literal(word: string): z.ZodType<string> {
  return text(`the text of a ${word}`).refine((value) => !hasPlaceholder(value), {
    error: `'placeholders in ${word} matchers' is not supported yet`,
    params: { [NOT_YET]: true },
  });
}

/** A text, or Caddy's object of the text and the name of its matcher. */
const expression = z.unknown().transform((value, context) => {
  const named = expressionObject.safeParse(value);
  const expr = named.success ? named.data.expr : value;
  if (typeof expr === 'string') return expr;
  context.addIssue({ code: 'custom', message: `expected an expression (a text), found ${describe(value)}` });
  return z.NEVER;
});

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
  path_regexp: orNull(regexp),
  header_regexp: orNull(fieldMap(regexp)),
  vars: orNull(mapOf(list(variableValue))),
  vars_regexp: orNull(mapOf(regexp)),
  not: orNull(list(z.lazy(() => matcherSetSchema))),
  expression: orNull(expression),
  file: notYet('file'),
  tls: notYet('tls'),
  url_pattern: notYet('url_pattern'),
});
