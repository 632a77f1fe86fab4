/**
 * Automatic HTTPS: which servers speak TLS, which names need certificates, which redirects are added. By Caddy's
 * rules, so that a config means the same in both.
 */
import type { TlsPlan } from '../../../shared/plan/tls.ts';
import { matchesName } from '../../../shared/net/host-pattern.ts';
import type { Config } from '../../config/schema/config.ts';
import type { HttpServerConfig } from '../../config/schema/http-server.ts';
import { tlsPolicySchema } from '../../config/schema/tls-policy.ts';
import type { TlsPolicyConfig } from '../../config/schema/tls-policy.ts';
import type { Compilation } from '../compilation.ts';
import type { CertificateSpec, CompiledTls, ListenerSpec } from '../compiled.ts';
import { layer4TlsNames } from '../layer4/tls.ts';
import { compileListeners } from '../listeners.ts';
import { asksOf, challengeServers, challengeWays, plainListeners } from './challenges.ts';
import { compileAuthorities, compileIssuance } from './issuance.ts';
import { compileLoaded, type LoadedCertificates } from './loaded.ts';
import { compilePolicy } from './policies.ts';
import { addRedirects, redirectsOf, type RedirectWish } from './redirects.ts';
import { qualifiesForCertificate } from './subjects.ts';

export interface HttpsPlan {
  /** The servers of the config, redirects added. */
  readonly servers: Readonly<Record<string, HttpServerConfig>>;
  /** Of those that speak TLS. */
  readonly tlsOf: ReadonlyMap<string, TlsPlan>;
  /** Names of those that answer HTTP-01 challenges. */
  readonly answersChallenges: ReadonlySet<string>;
  readonly tls: CompiledTls;
  /** When workers ask for certificates; null = never. */
  readonly asks: NonNullable<TlsPlan['asks']> | null;
}

export function planHttps(run: Compilation, config: Config): HttpsPlan {
  const { servers } = config.apps.http;
  const listenersOf = new Map(
    Object.entries(servers).map(([name, server]) => [
      name,
      compileListeners(run, `apps.http.servers.${name}.listen`, server.listen, server.accept),
    ]),
  );
  const loaded = compileLoaded(run, config.apps.tls);
  const wanted = new Map<string, string>();
  const tlsOf = new Map<string, TlsPlan>();
  const wishes: RedirectWish[] = [];
  for (const [name, server] of Object.entries(servers)) {
    const found = planServer(run, config, name, server, listenersOf.get(name)!, loaded);
    for (const [host, path] of found.managed) if (!wanted.has(host)) wanted.set(host, path);
    if (found.tls !== null) tlsOf.set(name, found.tls);
    wishes.push(...found.redirects);
  }
  for (const [name, path] of layer4TlsNames(config.apps.layer4)) {
    if (qualifiesForCertificate(name) && !wanted.has(name) && !covers(loaded, name)) wanted.set(name, path);
  }
  for (const [at, name] of config.apps.tls.certificates.automate.entries()) {
    const host = name.toLowerCase();
    if (!wanted.has(host) && !covers(loaded, host)) wanted.set(host, `apps.tls.certificates.automate.${at}`);
  }
  const listensOn = (name: string, address: string): boolean => {
    return listenersOf.get(name)!.some(({ key }) => key === `tcp/${address}`);
  };
  const withRedirects = addRedirects(config.apps.http, wishes, listensOn);
  const plain = plainListeners(run, withRedirects, tlsOf);
  const ways = challengeWays(config.apps.http, plain, tlsOf);
  const { specs: issued, plan } = compileIssuance(run, config, wanted, ways);
  const specs: CertificateSpec[] = [...loaded.specs, ...issued];
  const asks = asksOf(specs, plan);
  return {
    servers: withRedirects,
    tlsOf: new Map([...tlsOf].map(([name, own]) => [name, asks === null ? own : { ...own, asks }])),
    answersChallenges: challengeServers(config.apps.http, plain, asks, config.apps.tls),
    tls: { certificates: specs, authorities: compileAuthorities(run, config, specs, plan.onDemand), issuance: plan },
    asks,
  };
}

interface ServerHttps {
  readonly tls: TlsPlan | null;
  /** Names that need a certificate, and where they were written. */
  readonly managed: ReadonlyMap<string, string>;
  readonly redirects: readonly RedirectWish[];
}

const PLAIN: ServerHttps = Object.freeze({ tls: null, managed: new Map<string, string>(), redirects: [] });

function planServer(
  run: Compilation,
  { apps }: Config,
  name: string,
  server: HttpServerConfig,
  listeners: readonly ListenerSpec[],
  loaded: LoadedCertificates,
): ServerHttps {
  const app = apps.http;
  const path = `apps.http.servers.${name}`;
  const onlyOn = (port: number): boolean => listeners.every((listener) => listener.port === port);
  const secure = listeners.filter(({ port }) => port !== app.http_port);
  const written = server.tls_connection_policies;
  const automatic = server.automatic_https;
  if (automatic.disable) {
    if (written.length === 0) warnPlain(run, path, app.https_port, server, listeners);
    return { ...PLAIN, tls: tlsPlan(run, path, server, written, secure) };
  }
  if (secure.length === 0) return PLAIN;
  const hosts = secureHosts(path, server);
  if (hosts.size === 0 && written.length === 0 && !onlyOn(app.https_port)) return PLAIN;
  const policies = written.length > 0 ? written : [tlsPolicySchema.parse({})];
  const redirects = automatic.disable_redirects ? [] : redirectsOf(app, secure, [...hosts.keys()]);
  return { tls: tlsPlan(run, path, server, policies, secure), managed: managedOf(server, hosts, loaded), redirects };
}

/** null when there is nothing that speaks TLS. */
function tlsPlan(
  run: Compilation,
  path: string,
  server: HttpServerConfig,
  policies: readonly TlsPolicyConfig[],
  listeners: readonly ListenerSpec[],
): TlsPlan | null {
  if (policies.length === 0 || listeners.length === 0) return null;
  const plans = policies.map((policy, at) =>
    compilePolicy(run, `${path}.tls_connection_policies.${at}`, policy, server.protocols),
  );
  return {
    listeners: listeners.map(({ key }) => key),
    policies: plans,
    handshakeTimeoutMs: server.tls_handshake_timeout,
    strictSniHost: server.strict_sni_host ?? plans.some(({ clientAuth }) => clientAuth !== null),
  };
}

/** Hosts of the routes that may have a certificate, lower case, with the JSON path of their route. */
function secureHosts(path: string, server: HttpServerConfig): Map<string, string> {
  const skipped = new Set(server.automatic_https.skip.map((host) => host.toLowerCase()));
  const hosts = new Map<string, string>();
  for (const [at, { match }] of server.routes.entries()) {
    for (const host of match.flatMap((set) => set.host ?? []).map((text) => text.toLowerCase())) {
      if (qualifiesForCertificate(host) && !skipped.has(host) && !hosts.has(host))
        hosts.set(host, `${path}.routes.${at}`);
    }
  }
  return hosts;
}

function managedOf(
  { automatic_https: automatic }: HttpServerConfig,
  hosts: ReadonlyMap<string, string>,
  loaded: LoadedCertificates,
): Map<string, string> {
  if (automatic.disable_certificates) return new Map();
  const skipped = new Set(automatic.skip_certificates.map((host) => host.toLowerCase()));
  return new Map(
    [...hosts].filter(
      ([host]) => !skipped.has(host) && (automatic.ignore_loaded_certificates || !covers(loaded, host)),
    ),
  );
}

function covers({ names }: LoadedCertificates, host: string): boolean {
  return names.has(host) || [...names].some((name) => matchesName(name, host));
}

/** Browsers speak TLS to this port: that it is plain HTTP should surprise nobody. */
function warnPlain(
  run: Compilation,
  path: string,
  httpsPort: number,
  server: HttpServerConfig,
  listeners: readonly ListenerSpec[],
): void {
  if (!listeners.some((listener) => listener.port === httpsPort)) return;
  const hosts = server.routes.flatMap((route) => route.match.flatMap((set) => set.host ?? []));
  run.warn(
    `${path}.routes.0`,
    'auto_https',
    `${hosts[0] ?? server.listen[0] ?? 'this server'} is served as plain HTTP on port ${httpsPort}, because auto_https ` +
      'is off: write http:// in front of the address to use the HTTP port',
  );
}
