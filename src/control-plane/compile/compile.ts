/** From a validated config to what the two planes run. */
import type { TlsPlan } from '../../shared/plan/tls.ts';
import type { ConnectionLimits, HttpServerOptions, SectionHash, SiteSection } from '../../shared/plan/types.ts';
import { deepFreeze } from '../config/deep-freeze.ts';
import type { Config } from '../config/schema/config.ts';
import type { HttpServerConfig, LimitsConfig } from '../config/schema/http-server.ts';
import type { LoggingConfig } from '../config/schema/logging.ts';
import type { RouteConfig } from '../config/schema/routes.ts';
import { compileAdmin } from './admin.ts';
import { Compilation } from './compilation.ts';
import type { CompileContext } from './compilation.ts';
import type { CompiledConfig, ConfigWarning, ListenerSpec } from './compiled.ts';
import { hashContent } from './content-hash.ts';
import { compileLayer4 } from './layer4/layer4.ts';
import { compileListenerWrappers } from './listener-wrappers.ts';
import { compileListeners } from './listeners.ts';
import { compileLogFiles } from './log-files.ts';
import { compileLogNets } from './log-nets.ts';
import { compileAccessLog, compileLogLevel, compileOwnLog, refuseLogFilters } from './logs.ts';
import { warnSharedCookie } from './pool-warnings.ts';
import { serverRouting } from './named-routes.ts';
import { compileRoute } from './routes.ts';
import { addChallengeSite } from './tls/challenges.ts';
import { planHttps } from './tls/https.ts';
import { NO_HTTP3 } from './tls/policies.ts';
import { placeRedirects } from './tls/redirects.ts';

export interface CompileResult {
  readonly compiled: CompiledConfig;
  readonly warnings: readonly ConfigWarning[];
}

/**
 * Pure but for `context.generatedSecret`. Throws a ConfigError for what cannot be served, with the
 * position of what is wrong. Equal configs give equal hashes.
 */
export function compileConfig(config: Config, context: CompileContext): CompileResult {
  const app = config.apps.http;
  const run = new Compilation(context, app.resolvers);
  const listeners = new Map<string, ListenerSpec>();
  const https = planHttps(run, config);
  const servers = Object.entries(https.servers).map(([name, server]) =>
    compileServer(run, config, name, server, listeners, https.tlsOf.get(name), https.answersChallenges.has(name)),
  );
  const layer4 = compileLayer4(run, config.apps.layer4, https, (path, own) =>
    claimListeners(run, path, own, listeners),
  );
  refuseLogFilters(run, config.logging);
  const compiled: CompiledConfig = {
    servers,
    layer4,
    sections: run.sections,
    pools: [...run.pools.values()],
    listeners: [...listeners.values()],
    admin: compileAdmin(run, config.admin),
    gracePeriodMs: app.grace_period,
    shutdownDelayMs: app.shutdown_delay,
    nameRefreshMs: app.name_refresh,
    workerHangTimeoutMs: app.worker_hang_timeout,
    logFiles: compileLogFiles(run, config.logging),
    logNets: compileLogNets(run, config.logging),
    logLevel: compileLogLevel(config.logging),
    ownLog: compileOwnLog(config.logging),
    tls: https.tls,
    ...(run.watchedFiles.size === 0 ? {} : { watchedFiles: [...run.watchedFiles] }),
  };
  return deepFreeze({ compiled, warnings: run.warnings });
}

function compileServer(
  run: Compilation,
  config: Config,
  name: string,
  server: HttpServerConfig,
  listeners: Map<string, ListenerSpec>,
  tls: TlsPlan | undefined,
  answersChallenges: boolean,
): CompiledConfig['servers'][number] {
  const path = `apps.http.servers.${name}`;
  if (server.listen.length === 0) run.fail(path, `server ${name} has no listen address`);
  const own = placeRedirects(name, compileListeners(run, `${path}.listen`, server.listen, server.accept));
  claimListeners(run, `${path}.listen`, own, listeners);
  if (server.protocols.includes('h3')) run.warn(`${path}.protocols`, 'servers', `protocols h3: ${NO_HTTP3}`);
  run.routing = serverRouting(path, server);
  const sites = server.routes.map((route, index) => compileSite(run, `${path}.routes.${index}`, route));
  return {
    name,
    listeners: own.map((listener) => listener.key),
    sites: answersChallenges ? [addChallengeSite(run), ...sites] : sites,
    errorSites: server.errors.routes.map((route, index) => compileSite(run, `${path}.errors.routes.${index}`, route)),
    options: {
      ...compileOptions(server, config.logging),
      ...compileListenerWrappers(run, path, server, tls !== undefined),
    },
    ...(tls === undefined ? {} : { tls }),
  };
}

/** Adds the listeners of one server to those of all. */
function claimListeners(
  run: Compilation,
  path: string,
  own: readonly ListenerSpec[],
  all: Map<string, ListenerSpec>,
): void {
  const twice = own.find(({ key }, index) => own.findIndex((other) => other.key === key) < index);
  if (twice !== undefined) run.fail(path, `${twice.key} is listed twice`);
  for (const listener of own) {
    if (all.has(listener.key)) run.fail(path, `two servers listen on ${listener.key}`);
    all.set(listener.key, listener);
  }
}

function compileSite(run: Compilation, path: string, config: RouteConfig): SectionHash {
  const pools = new Set<SectionHash>();
  const content: Omit<SiteSection, 'hash'> = {
    kind: 'site',
    route: compileRoute(run, path, config, pools),
    pools: [...pools],
  };
  warnSharedCookie(run, path, content.pools);
  const hash = hashContent(content);
  run.sections.set(hash, { hash, ...content });
  return hash;
}

function compileOptions(server: HttpServerConfig, logging: LoggingConfig): HttpServerOptions {
  return {
    trustedProxies: server.trusted_proxies?.ranges ?? [],
    clientIpHeaders: server.client_ip_headers,
    readHeaderTimeoutMs: server.read_header_timeout,
    idleTimeoutMs: server.idle_timeout,
    readBodyIdleTimeoutMs: server.read_idle_timeout,
    writeIdleTimeoutMs: server.write_idle_timeout,
    readBodyTimeoutMs: server.read_timeout,
    writeTimeoutMs: server.write_timeout,
    maxHeaderBytes: server.max_header_bytes,
    maxHeaderFields: server.limits.header_fields,
    maxRequestsPerConnection: server.limits.requests_per_connection ?? 0,
    ...compileHttp2(server),
    connectionLimits: compileConnectionLimits(server.limits),
    accessLog: compileAccessLog(server.logs, logging),
  };
}

function compileHttp2({ limits, protocols }: HttpServerConfig): Partial<HttpServerOptions> {
  const streams = limits.streams_per_connection;
  return {
    ...(streams === null ? {} : { streamsPerConnection: streams }),
    ...(protocols.includes('h2c') ? { h2c: true } : {}),
  };
}

function compileConnectionLimits(limits: LimitsConfig): ConnectionLimits | null {
  if (limits.connections === null && limits.connections_per_source === null) return null;
  return { total: limits.connections ?? 0, perSource: limits.connections_per_source ?? 0 };
}
