import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';
import { parseHandler } from './handlers.ts';
import type { Routing } from './routing.ts';

/** `route [@<name>…] { <handler>… }`: one of the matchers has to hold. */
export function parseRoute(statement: Statement, routing: Routing): JsonObject {
  if (statement.block === null) throw wrongCount(statement);
  const route: JsonObject = {};
  routing.adaptation.origins.mark(route, statement.name);
  const match = statement.args.map((token) => matcherNamed(token, routing));
  if (match.length > 0) route['match'] = match;
  const handle = blockOf(statement).map((line) => parseHandler(line, routing));
  if (handle.length > 0) route['handle'] = handle;
  return route;
}

function matcherNamed(token: Token, { matchers }: Routing): JsonObject {
  const set = matchers.get(token.text);
  if (set !== undefined) return set;
  if (!token.text.startsWith('@')) {
    throw failure(token, `'${token.text}' is no matcher: write @name, and define it as @name <matcher>`);
  }
  const known = [...matchers.keys()].join(', ');
  throw failure(token, `matcher ${token.text} is not defined${known === '' ? '' : `: known are ${known}`}`);
}
