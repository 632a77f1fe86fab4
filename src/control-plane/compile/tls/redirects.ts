/** Redirects from HTTP to HTTPS, as routes like any other. */
import { joinHostPort } from '../../../shared/net/address.ts';
import { httpServerSchema } from '../../config/schema/http-server.ts';
import type { HttpServerConfig } from '../../config/schema/http-server.ts';
import type { HttpAppConfig } from '../../config/schema/http-app.ts';
import type { RouteConfig } from '../../config/schema/routes.ts';
import type { ListenerSpec } from '../compiled.ts';

export interface RedirectWish {
  /** Where requests in the clear come in. */
  readonly listen: string;
  /** Port that clients are sent to. */
  readonly port: number;
  /** Empty = every host. */
  readonly hosts: readonly string[];
}

/** Caddy's name of the server made for redirects that no server of the config can take. */
const OWN_SERVER = 'remaining_auto_https_redirects';
const OWN_PLACE = 'automatic redirects to HTTPS (auto_https disable_redirects turns them off)';
const WELL_KNOWN_PORTS: readonly number[] = Object.freeze([80, 443]);

/** One wish for each address a server listens on with TLS. An inherited socket has a port that the config does not tell. */
export function redirectsOf(
  { http_port: httpPort }: HttpAppConfig,
  listeners: readonly ListenerSpec[],
  hosts: readonly string[],
): RedirectWish[] {
  const bound = listeners.filter(({ fd, unix }) => fd === null && unix === undefined);
  return bound.map(({ host, port }) => ({ listen: joinHostPort(host, httpPort), port, hosts }));
}

/**
 * The servers with redirects in them. A server that listens where redirects are wanted takes them behind its routes
 * with hosts and before those for all; what is left gets a server of its own.
 */
export function addRedirects(
  app: HttpAppConfig,
  wishes: readonly RedirectWish[],
  listensOn: (server: string, address: string) => boolean,
): Readonly<Record<string, HttpServerConfig>> {
  const servers: Record<string, HttpServerConfig> = { ...app.servers };
  const orphans: RedirectWish[] = [];
  for (const listen of new Set(wishes.map((wish) => wish.listen))) {
    const here = mergeHosts(wishes.filter((wish) => wish.listen === listen));
    const taker = Object.keys(app.servers).find((name) => listensOn(name, listen));
    if (taker === undefined) orphans.push(...here);
    else servers[taker] = withRoutes(servers[taker]!, routesFor(app, here));
  }
  if (orphans.length === 0) return servers;
  const routes = routesFor(app, mergeHosts(orphans));
  const listen = [...new Set(orphans.map((wish) => wish.listen))];
  servers[OWN_SERVER] = httpServerSchema.parse({ listen, automatic_https: { disable: true } });
  servers[OWN_SERVER] = { ...servers[OWN_SERVER], routes };
  return servers;
}

/** Nobody wrote the listeners of that server: a message about them says where they come from. */
export function placeRedirects(server: string, listeners: readonly ListenerSpec[]): readonly ListenerSpec[] {
  return server === OWN_SERVER ? listeners.map((listener) => ({ ...listener, place: OWN_PLACE })) : listeners;
}

/** Wishes for the same port, host lists joined; an empty one swallows the others. */
function mergeHosts(wishes: readonly RedirectWish[]): RedirectWish[] {
  return [...new Set(wishes.map(({ port }) => port))].map((port) => {
    const same = wishes.filter((wish) => wish.port === port);
    const hosts = same.some((wish) => wish.hosts.length === 0) ? [] : same.flatMap((wish) => wish.hosts);
    return { listen: same[0]!.listen, port, hosts: [...new Set(hosts)] };
  });
}

/** The last one sends every other host to the HTTPS port. */
function routesFor(app: HttpAppConfig, wishes: readonly RedirectWish[]): RouteConfig[] {
  const all = [...wishes.filter(({ hosts }) => hosts.length > 0), { port: app.https_port, hosts: [] }];
  const json = all.map(({ port, hosts }) => ({
    match: [{ protocol: 'http', ...(hosts.length > 0 ? { host: hosts } : {}) }],
    handle: [
      {
        handler: 'static_response',
        status_code: 308,
        headers: { Location: [`https://{http.request.host}${visiblePort(app, port)}{http.request.uri}`] },
      },
    ],
    terminal: true,
  }));
  return [...httpServerSchema.parse({ routes: json }).routes];
}

/** The configured ports are those behind a firewall or a container: outside they are the usual ones. */
function visiblePort({ http_port: http, https_port: https }: HttpAppConfig, port: number): string {
  return port === http || port === https || WELL_KNOWN_PORTS.includes(port) ? '' : `:${port}`;
}

function withRoutes(server: HttpServerConfig, added: readonly RouteConfig[]): HttpServerConfig {
  const last = server.routes.findLastIndex(({ match }) => match.some((set) => (set.host ?? []).length > 0));
  return { ...server, routes: [...server.routes.slice(0, last + 1), ...added, ...server.routes.slice(last + 1)] };
}
