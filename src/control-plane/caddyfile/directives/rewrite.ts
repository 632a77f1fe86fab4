import type { Directive, SiteContext, SiteValue } from '../context.ts';
import { failure } from '../syntax/failure.ts';
import { integer, one, some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { handlerDirective, makeRoute, takeMatcherBeforeLast } from './handler.ts';
import { uriQuery } from './uri-query.ts';

/** `rewrite [<matcher>] <to>`: a single argument is the target, even when it begins like a matcher. */
export const rewrite: Directive = {
  name: 'rewrite',
  parse(statement: Statement, context: SiteContext): SiteValue[] {
    const { match, rest } = takeMatcherBeforeLast(statement, context);
    const handlers = [{ handler: 'rewrite', uri: one(rest).text }];
    return [{ kind: 'route', directive: 'rewrite', route: makeRoute(statement, match, handlers, context) }];
  },
};

/** `method [<matcher>] <method>`. */
export const method: Directive = handlerDirective('method', (statement) => [
  { handler: 'rewrite', method: one(statement).text },
]);

/** `uri [<matcher>] strip_prefix|strip_suffix|replace|path_regexp|query …`. */
export const uri: Directive = handlerDirective('uri', (statement) => {
  const [query, ...operations] = statement.args;
  if (query?.text === 'query') {
    const ops = uriQuery({ name: query, args: operations, block: null }, statement.block);
    return [{ handler: 'rewrite', query: ops }];
  }
  const [operation, ...args] = some(statement, 2, 4);
  if (operation === undefined) return [];
  const line: Statement = { name: operation, args, block: null };
  switch (operation.text) {
    case 'strip_prefix':
      return [{ handler: 'rewrite', strip_path_prefix: withSlash(one(line).text) }];
    case 'strip_suffix':
      return [{ handler: 'rewrite', strip_path_suffix: one(line).text }];
    case 'replace':
      return [{ handler: 'rewrite', uri_substring: [substring(line)] }];
    case 'path_regexp': {
      const [find, replace] = some(line, 2, 2);
      return [{ handler: 'rewrite', path_regexp: [{ find: find?.text ?? '', replace: replace?.text ?? '' }] }];
    }
    default:
      throw failure(
        operation,
        `unrecognized URI manipulation '${operation.text}': known are strip_prefix, strip_suffix, replace, path_regexp, query`,
      );
  }
});

function withSlash(prefix: string): string {
  return prefix.startsWith('/') ? prefix : `/${prefix}`;
}

function substring(line: Statement): { find: string; replace: string; limit?: number } {
  const [find, replace, limit] = some(line, 2, 3);
  const rule = { find: find?.text ?? '', replace: replace?.text ?? '' };
  return limit === undefined ? rule : { ...rule, limit: integer(limit, 'limit must be an integer; got') };
}
