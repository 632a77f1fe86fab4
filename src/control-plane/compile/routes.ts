/** Routes, matchers and handlers: from config to plan. */
import type {
  HandlerPlan,
  MatcherPlan,
  MatcherSetPlan,
  ReverseProxyPlan,
  RoutePlan,
  SectionHash,
} from '../../shared/plan/types.ts';
import type { LeafHandlerConfig, RewriteConfig } from '../config/schema/handlers.ts';
import type { MatcherSetConfig } from '../config/schema/matchers.ts';
import type { ReverseProxyConfig } from '../config/schema/reverse-proxy.ts';
import type { HandlerConfig, RouteConfig } from '../config/schema/routes.ts';
import type { Compilation } from './compilation.ts';
import { checkHandler, checkMatchers } from './data-plane-check.ts';
import { compileHeaderOps, compileResponseOps } from './header-ops.ts';
import { compilePool } from './pool.ts';
import { warnSetCookie } from './pool-warnings.ts';

/** `path` is the JSON path of the route; the pools its handlers name are added to `pools`. */
export function compileRoute(run: Compilation, path: string, config: RouteConfig, pools: Set<SectionHash>): RoutePlan {
  const match = config.match.map(compileMatcherSet);
  checkMatchers(run, `${path}.match`, match);
  return {
    match,
    handle: config.handle.map((handler, index) => compileHandler(run, `${path}.handle.${index}`, handler, pools)),
    group: config.group,
    terminal: config.terminal,
  };
}

function compileMatcherSet(config: MatcherSetConfig): MatcherSetPlan {
  const set: MatcherPlan[] = [];
  if (config.host !== null) set.push({ kind: 'host', hosts: config.host });
  if (config.path !== null) set.push({ kind: 'path', paths: config.path });
  if (config.method !== null) set.push({ kind: 'method', methods: config.method });
  if (config.query !== null) set.push({ kind: 'query', query: config.query });
  if (config.header !== null) set.push({ kind: 'header', header: config.header });
  if (config.protocol !== null) set.push({ kind: 'protocol', protocol: config.protocol });
  if (config.remote_ip !== null) set.push({ kind: 'remote_ip', ranges: config.remote_ip.ranges });
  if (config.client_ip !== null) set.push({ kind: 'client_ip', ranges: config.client_ip.ranges });
  if (config.not !== null) set.push({ kind: 'not', sets: config.not.map(compileMatcherSet) });
  return set;
}

function compileHandler(run: Compilation, path: string, config: HandlerConfig, pools: Set<SectionHash>): HandlerPlan {
  if (config.handler === 'subroute') {
    const routes = config.routes.map((route, index) => compileRoute(run, `${path}.routes.${index}`, route, pools));
    return { handler: 'subroute', routes };
  }
  const plan =
    config.handler === 'reverse_proxy' ? compileReverseProxy(run, path, config, pools) : compileOther(config);
  checkHandler(run, path, plan);
  return plan;
}

function compileOther(config: Exclude<LeafHandlerConfig, ReverseProxyConfig>): HandlerPlan {
  switch (config.handler) {
    case 'static_response': {
      const { handler, status_code: statusCode, headers, body, close, abort } = config;
      return { handler, statusCode, headers, body, close, abort };
    }
    case 'headers':
      return {
        handler: 'headers',
        request: config.request === null ? null : compileHeaderOps(config.request),
        response: config.response === null ? null : compileResponseOps(config.response),
      };
    case 'rewrite':
      return compileRewrite(config);
    case 'vars':
      return { handler: 'vars', vars: config.vars };
  }
}

function compileRewrite(config: RewriteConfig): HandlerPlan {
  return {
    handler: 'rewrite',
    method: config.method,
    uri: config.uri,
    stripPathPrefix: config.strip_path_prefix,
    stripPathSuffix: config.strip_path_suffix,
    uriSubstring: config.uri_substring,
  };
}

function compileReverseProxy(
  run: Compilation,
  path: string,
  config: ReverseProxyConfig,
  pools: Set<SectionHash>,
): ReverseProxyPlan {
  const pool = compilePool(run, path, config);
  const { request, response } = config.headers;
  pools.add(pool.hash);
  if (response !== null) warnSetCookie(run, path, pool.policy, response);
  return {
    handler: 'reverse_proxy',
    pool: pool.hash,
    trustedProxies: config.trusted_proxies,
    headersUp: request === null ? null : compileHeaderOps(request),
    headersDown: response === null ? null : compileResponseOps(response),
  };
}
