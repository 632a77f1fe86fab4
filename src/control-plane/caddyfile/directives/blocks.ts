import type { Directive, SiteContext, SiteValue } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { buildSubroute } from '../routing/subroute.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { makeRoute, takeMatcher } from './handler.ts';

/** The block's directives as one `subroute`. Only what makes routes may stand in it. */
export function subrouteOf(statement: Statement, context: SiteContext, sorted: boolean): JsonObject {
  const values = context.parseBlock(blockOf(statement), context);
  return buildSubroute(values, context.adaptation, sorted);
}

function group(name: string, sorted: boolean): Directive {
  return {
    name,
    parse(statement: Statement, context: SiteContext): SiteValue[] {
      const { match, rest } = takeMatcher(statement, context);
      if (rest.args.length > 0) throw wrongCount(rest);
      const handlers = [subrouteOf(rest, context, sorted)];
      return [{ kind: 'route', directive: name, route: makeRoute(statement, match, handlers, context) }];
    },
  };
}

/** `handle [<matcher>] { … }`: of several, the first that matches. */
export const handle: Directive = group('handle', true);

/** `route [<matcher>] { … }`: what it holds runs as written. */
export const route: Directive = group('route', false);

/** `handle_path <path> { … }`: `handle`, with the path's fixed part taken off. Counts as `handle`. */
export const handlePath: Directive = {
  name: 'handle_path',
  parse(statement: Statement, context: SiteContext): SiteValue[] {
    const [path, surplus] = statement.args;
    if (path === undefined || surplus !== undefined) throw wrongCount(statement);
    if (!path.text.startsWith('/')) throw failure(path, "path matcher must begin with '/'");
    const { match, rest } = takeMatcher(statement, context);
    const subroute = subrouteOf(rest, context, true);
    const strip: JsonObject = {
      handler: 'rewrite',
      strip_path_prefix: path.text.replace(/\/?\*$/, ''),
    };
    const routes = Array.isArray(subroute['routes']) ? subroute['routes'] : [];
    subroute['routes'] = [context.adaptation.origins.mark({ handle: [strip] }, statement.name), ...routes];
    return [{ kind: 'route', directive: 'handle', route: makeRoute(statement, match, [subroute], context) }];
  },
};
