/** Routes, matchers and handlers: from config to plan. */
import type { StreamPlan } from '../../shared/plan/streams.ts';
import type {
  HandleResponsePlan,
  HandlerPlan,
  MatcherPlan,
  MatcherSetPlan,
  QueryOpsPlan,
  QueryPairPlan,
  ReverseProxyPlan,
  RewriteSteps,
  RoutePlan,
  SectionHash,
} from '../../shared/plan/types.ts';
import type { HandleResponseConfig } from '../config/schema/handle-response.ts';
import type { InvokeConfig, LeafHandlerConfig, RequestBodyConfig } from '../config/schema/handlers.ts';
import type { MapConfig } from '../config/schema/map-handler.ts';
import type { MatcherSetConfig } from '../config/schema/matchers.ts';
import type { QueryArgumentsConfig, QueryOpsConfig } from '../config/schema/query-ops.ts';
import type { ReverseProxyConfig } from '../config/schema/reverse-proxy.ts';
import type { RewriteFields } from '../config/schema/rewrite.ts';
import type { HandlerConfig, RouteConfig } from '../config/schema/routes.ts';
import { compileAuthentication } from './authentication.ts';
import type { Compilation } from './compilation.ts';
import { checkHandler, checkMatchers } from './data-plane-check.ts';
import { compileEncode } from './encode.ts';
import { errorStatusOf } from './error-status.ts';
import { compileHeaderOps, compileResponseOps } from './header-ops.ts';
import { compileInvoked } from './named-routes.ts';
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
  if (config.expression !== null) set.push(compileExpression(config.expression));
  if (config.path_regexp !== null) set.push({ kind: 'path_regexp', regexp: config.path_regexp });
  if (config.header_regexp !== null) set.push({ kind: 'header_regexp', fields: config.header_regexp });
  if (config.vars !== null) set.push({ kind: 'vars', vars: config.vars });
  if (config.vars_regexp !== null) set.push({ kind: 'vars_regexp', vars: config.vars_regexp });
  if (config.not !== null) set.push({ kind: 'not', sets: config.not.map(compileMatcherSet) });
  return set;
}

function compileExpression(expression: string): MatcherPlan {
  const status = errorStatusOf(expression);
  return status === null ? { kind: 'expression', expression } : { kind: 'error_status', status };
}

function compileHandler(run: Compilation, path: string, config: HandlerConfig, pools: Set<SectionHash>): HandlerPlan {
  if (config.handler === 'subroute') {
    const routes = config.routes.map((route, index) => compileRoute(run, `${path}.routes.${index}`, route, pools));
    return { handler: 'subroute', routes };
  }
  if (config.handler === 'invoke') {
    const route = compileInvoked(run, path, config.name, (at, named) => compileRoute(run, at, named, pools));
    return { handler: 'subroute', routes: [route] };
  }
  if (isCopy(config) && !run.routing.inResponse) {
    return run.fail(path, `'${config.handler}' has no response to copy: write it inside handle_response`);
  }
  if (waits(config) && run.routing.inResponse) run.notYet(path, `${config.handler} inside handle_response`);
  const plan =
    config.handler === 'reverse_proxy'
      ? compileReverseProxy(run, path, config, pools)
      : compileOther(run, path, config);
  checkHandler(run, path, plan);
  return plan;
}

function isCopy({ handler }: HandlerConfig): boolean {
  return handler === 'copy_response' || handler === 'copy_response_headers';
}

/** Nobody keeps the response of an upstream meanwhile. */
function waits({ handler }: HandlerConfig): boolean {
  return handler === 'authentication' || handler === 'metrics';
}

function compileOther(run: Compilation, path: string, config: Exclude<LeafHandlerConfig, InvokeConfig>): HandlerPlan {
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
      return { handler: 'rewrite', ...compileRewrite(config) };
    case 'vars':
      return { handler: 'vars', vars: config.vars };
    case 'error':
      return { handler: 'error', message: config.error, statusCode: config.status_code };
    case 'map':
      return compileMap(config);
    case 'request_body':
      return compileRequestBody(config);
    case 'encode':
      return compileEncode(run, path, config);
    case 'copy_response':
      return { handler: 'copy_response', statusCode: config.status_code };
    case 'copy_response_headers':
      return config;
    case 'authentication':
      return compileAuthentication(run, path, config);
    case 'metrics':
      return { handler: 'metrics' };
  }
}

function compileRewrite(config: RewriteFields): RewriteSteps {
  return {
    method: config.method,
    uri: config.uri,
    stripPathPrefix: config.strip_path_prefix,
    stripPathSuffix: config.strip_path_suffix,
    uriSubstring: config.uri_substring,
    pathRegexp: config.path_regexp,
    ...(config.query === null ? {} : { query: compileQueryOps(config.query) }),
  };
}

function compileQueryOps({ rename, set, add, replace, delete: removed }: QueryOpsConfig): QueryOpsPlan {
  const pairOf = ({ key, val }: QueryArgumentsConfig): QueryPairPlan => ({ key, value: val });
  return {
    rename: rename.map(pairOf),
    set: set.map(pairOf),
    add: add.map(pairOf),
    replace: replace.map(({ search_regexp: searchRegexp, ...rule }) => ({ ...rule, searchRegexp })),
    delete: removed,
  };
}

function compileRequestBody(config: RequestBodyConfig): HandlerPlan {
  const { max_size: maxBytes, set: body, read_timeout: readTimeoutMs, write_timeout: writeTimeoutMs } = config;
  return {
    handler: 'request_body',
    maxBytes,
    ...(body === null ? {} : { body }),
    ...(readTimeoutMs === 0 ? {} : { readTimeoutMs }),
    ...(writeTimeoutMs === 0 ? {} : { writeTimeoutMs }),
  };
}

function compileMap(config: MapConfig): HandlerPlan {
  return {
    handler: 'map',
    source: config.source,
    destinations: config.destinations.map((name) => name.slice(1, -1)),
    mappings: config.mappings.map(({ input, input_regexp: inputRegexp, outputs }) => ({ input, inputRegexp, outputs })),
    defaults: config.defaults,
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
    ...addressesOf(config),
    trustedProxies: config.trusted_proxies,
    retryMatch: compileRetryMatch(run, path, config.load_balancing.retry_match),
    requestBufferBytes: config.request_buffers,
    ...compileBuffers(config),
    ...(config.rewrite === null ? {} : { rewrite: compileRewrite(config.rewrite) }),
    ...compileStreams(config),
    headersUp: request === null ? null : compileHeaderOps(request),
    headersDown: response === null ? null : compileResponseOps(response),
    handleResponse: config.handle_response.map((entry, index) =>
      compileHandleResponse(run, `${path}.handle_response.${index}`, entry, pools),
    ),
  };
}

/** Of upstreams that requests name. */
function addressesOf({ upstreams }: ReverseProxyConfig): Pick<ReverseProxyPlan, 'addresses'> {
  const addresses = upstreams.map(({ dial }) => dial);
  return addresses.some((text) => /[{}]/.test(text)) ? { addresses } : {};
}

function compileHandleResponse(
  run: Compilation,
  path: string,
  { match, status_code: statusCode, routes }: HandleResponseConfig,
  pools: Set<SectionHash>,
): HandleResponsePlan {
  const { inResponse } = run.routing;
  run.routing.inResponse = true;
  const plans = routes.map((route, index) => compileRoute(run, `${path}.routes.${index}`, route, pools));
  run.routing.inResponse = inResponse;
  return {
    match: match === null ? null : { status: match.status_code, headers: match.headers },
    statusCode,
    routes: plans,
  };
}

function compileBuffers({
  response_buffers: responseBufferBytes,
  stream_buffer_size: streamBufferBytes,
}: ReverseProxyConfig): Pick<ReverseProxyPlan, 'responseBufferBytes' | 'streamBufferBytes'> {
  return {
    ...(responseBufferBytes === 0 ? {} : { responseBufferBytes }),
    ...(streamBufferBytes === 0 ? {} : { streamBufferBytes }),
  };
}

function compileStreams(config: ReverseProxyConfig): { readonly streams?: StreamPlan } {
  const { stream_timeout: timeoutMs, stream_close_delay: closeDelayMs } = config;
  return timeoutMs === 0 && closeDelayMs === null ? {} : { streams: { timeoutMs, closeDelayMs } };
}

/** Checked apart from the handler, so that a fault is reported at the line of its `lb_retry_match`. */
function compileRetryMatch(run: Compilation, path: string, config: readonly MatcherSetConfig[]): MatcherSetPlan[] {
  return config.map((set, index) => {
    const plan = compileMatcherSet(set);
    checkMatchers(run, `${path}.load_balancing.retry_match.${index}`, [plan]);
    return plan;
  });
}
