/**
 * `rewrite`, `uri`, `handle_path`, `method`: changes of the request on its way. Bytes that no rule names are not
 * touched: nothing is decoded and encoded again.
 */
import { ConfigError } from '../../shared/config-error.ts';
import type { QueryOpsPlan, RewriteSteps } from '../../shared/plan/types.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import { compileQueryOps } from './query-ops.ts';
import { compileRegexp, compileReplacement, replaceMatches } from './regexp.ts';
import type { RequestView } from './request-view.ts';
import { stripPrefix, stripSuffix, withSlash } from './strip-prefix.ts';
import { joinTarget, splitTarget, type SplitTarget } from './target.ts';
import { compileTemplate } from './template.ts';

/** Changes `request.method` and `request.target` in place. */
export type Rewrite = (request: RequestView) => void;

/** One change of path and query. */
type Step = (parts: SplitTarget, request: RequestView) => SplitTarget;

/** Throws `ConfigError` for a target with a fragment, for bad expressions and for unknown placeholders of Caddy's. */
export function compileRewrite(plan: RewriteSteps, facts: ProcessFacts): Rewrite {
  const method = plan.method === '' ? null : compileTemplate(plan.method, 'all', { encoding: 'text', facts });
  const steps: Step[] = [];
  if (plan.uri !== '') steps.push(compileUri(plan.uri, facts));
  if (plan.stripPathPrefix !== '') steps.push(pathStep(plan.stripPathPrefix, stripPrefix, facts));
  if (plan.stripPathSuffix !== '') steps.push(pathStep(plan.stripPathSuffix, stripSuffix, facts));
  for (const rule of plan.uriSubstring) steps.push(compileSubstring(rule, facts));
  for (const rule of plan.pathRegexp) steps.push(compilePathRegexp(rule, facts));
  if (plan.query !== undefined) steps.push(compileQueryStep(plan.query, facts));
  return (request) => {
    if (method !== null) rewriteMethod(request, method.render(request).toUpperCase());
    if (steps.length === 0) return;
    let parts = splitTarget(request.target);
    for (const step of steps) parts = step(parts, request);
    request.target = joinTarget(parts.path, parts.query);
  };
}

/** A template that renders no token (RFC 9110 section 9.1) leaves the method alone: it would split the request line. */
function rewriteMethod(request: RequestView, method: string): void {
  if (/^[!#$%&'*+\-.^_`|~0-9A-Z]+$/.test(method)) request.method = method;
}

/**
 * A path alone keeps the query; a query alone (`?a=b`) keeps the path. A question mark that comes out of a placeholder
 * in the path begins the query, unless the rule has its own.
 */
function compileUri(uri: string, facts: ProcessFacts): Step {
  const [pathText, queryText] = splitTemplate(uri);
  const path = pathText === '' ? null : compileTemplate(pathText, 'all', { encoding: 'target', facts });
  const renderQuery = queryText === null ? null : compileQuery(queryText, facts);
  return (parts, request) => {
    const ruled = renderQuery === null ? parts.query : renderQuery(request);
    if (path === null) return { path: parts.path, query: ruled };
    const rendered = splitTarget(path.render(request));
    return { path: withSlash(rendered.path), query: renderQuery === null ? (rendered.query ?? ruled) : ruled };
  };
}

/** Cuts at the first question mark outside of braces. */
function splitTemplate(uri: string): [path: string, query: string | null] {
  const masked = uri.replace(/\{[^\s{}"'\\;]+\}/g, (name) => '_'.repeat(name.length));
  if (masked.includes('#')) {
    throw new ConfigError(`rewrite '${uri}' holds a fragment, which is never sent; write %23 for a literal '#'`);
  }
  const mark = masked.indexOf('?');
  return mark < 0 ? [uri, null] : [uri.slice(0, mark), uri.slice(mark + 1)];
}

/** Parts that come out empty, as `{query}` of a request without one, leave no lonely `&`. null = no query at all. */
function compileQuery(text: string, facts: ProcessFacts): (request: RequestView) => string | null {
  const parts = text.split('&').map((part) => compileTemplate(part, 'all', { encoding: 'component', facts }));
  return (request) => {
    const query = parts
      .map((part) => part.render(request))
      .filter((part) => part !== '')
      .join('&');
    return query === '' ? null : query;
  };
}

function pathStep(text: string, cut: (path: string, affix: string) => string, facts: ProcessFacts): Step {
  const affix = compileTemplate(text, 'all', { encoding: 'text', facts });
  return ({ path, query }, request) => ({ path: cut(path, affix.render(request)), query });
}

/** Replaces in path and query, each up to `limit` times (0 = all). */
function compileSubstring(rule: RewriteSteps['uriSubstring'][number], facts: ProcessFacts): Step {
  const find = compileTemplate(rule.find, 'all', { encoding: 'text', facts });
  const put = compileTemplate(rule.replace, 'all', { encoding: 'target', facts });
  const limit = rule.limit > 0 ? rule.limit : Infinity;
  return ({ path, query }, request) => {
    const search = find.render(request);
    if (search === '') return { path, query };
    const replacement = put.render(request);
    const newPath = replaceUpTo(path, search, replacement.replaceAll('?', '%3F'), limit);
    return {
      path: newPath === path ? path : withSlash(newPath),
      query: query === null ? null : replaceUpTo(query, search, replacement, limit),
    };
  };
}

/** Replaces every match in the path as it stands, escapes included. A path never begins a query here. */
function compilePathRegexp(rule: RewriteSteps['pathRegexp'][number], facts: ProcessFacts): Step {
  const regexp = compileRegexp(rule.find);
  const replacement = compileReplacement(rule.replace, facts, 'target');
  return ({ path, query }, request) => {
    const newPath = replaceMatches(regexp, path, replacement, request);
    return { path: newPath === path ? path : withSlash(newPath.replaceAll('?', '%3F')), query };
  };
}

function compileQueryStep(plan: QueryOpsPlan, facts: ProcessFacts): Step {
  const change = compileQueryOps(plan, facts);
  return ({ path, query }, request) => ({ path, query: change(query, request) });
}

function replaceUpTo(text: string, search: string, replacement: string, limit: number): string {
  let result = '';
  let from = 0;
  for (let done = 0; done < limit; done += 1) {
    const at = text.indexOf(search, from);
    if (at < 0) break;
    result += text.slice(from, at) + replacement;
    from = at + search.length;
  }
  return result + text.slice(from);
}
