import type { Directive, SiteContext, SiteValue } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';

/** Matcher sets of a route; null = every request. */
export type RouteMatch = readonly JsonObject[] | null;

/** The matcher token in front of a directive's arguments, and the statement without it. */
export function takeMatcher(
  statement: Statement,
  context: SiteContext,
): { readonly match: RouteMatch; readonly rest: Statement } {
  const [first, ...args] = statement.args;
  if (first === undefined) return { match: null, rest: statement };
  const match = matcherOf(first, context);
  return match === undefined ? { match: null, rest: statement } : { match, rest: { ...statement, args } };
}

/** As `takeMatcher`, for directives whose one argument may itself begin like a matcher (`rewrite /a`, `root /srv`). */
export function takeMatcherBeforeLast(statement: Statement, context: SiteContext): ReturnType<typeof takeMatcher> {
  return statement.args.length === 1 ? { match: null, rest: statement } : takeMatcher(statement, context);
}

/** Undefined when the token is no matcher. */
function matcherOf(token: Token, context: SiteContext): RouteMatch | undefined {
  if (token.text === '*') return null;
  if (token.text.startsWith('/')) return [context.adaptation.origins.mark({ path: [token.text] }, token)];
  if (!token.text.startsWith('@')) return undefined;
  const set = context.matchers.get(token.text);
  if (set === undefined) throw failure(token, `unrecognized matcher name: ${token.text}`);
  return [set];
}

export function makeRoute(
  statement: Statement,
  match: RouteMatch,
  handlers: JsonObject[],
  context: SiteContext,
): JsonObject {
  const { origins } = context.adaptation;
  for (const handler of handlers) origins.mark(handler, statement.name);
  const route: JsonObject = match === null ? { handle: handlers } : { match: [...match], handle: handlers };
  return origins.mark(route, statement.name);
}

/** A directive `name [<matcher>] …` that becomes one route for each handler it yields. */
export function handlerDirective(
  name: string,
  parse: (statement: Statement, context: SiteContext) => readonly JsonObject[],
): Directive {
  return {
    name,
    parse(statement: Statement, context: SiteContext): SiteValue[] {
      const { match, rest } = takeMatcher(statement, context);
      return parse(rest, context).map((handler) => {
        return { kind: 'route', directive: name, route: makeRoute(statement, match, [handler], context) };
      });
    },
  };
}
