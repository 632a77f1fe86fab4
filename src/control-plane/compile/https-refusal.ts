/**
 * Refuses servers that Caddy would serve over HTTPS, by its own rules of automatic HTTPS: serving them
 * in the clear without being told to would be worse than not starting.
 */
import type { HttpAppConfig } from '../config/schema/http-app.ts';
import type { HttpServerConfig } from '../config/schema/http-server.ts';
import type { Compilation } from './compilation.ts';
import type { ListenerSpec } from './compiled.ts';

/** An inherited socket has a port, but the config does not say which. */
const INHERITED_PORT = 0;
/** Names no authority would sign contain one of these, or begin or end with a dot. */
const NO_CERTIFICATE = /[()[\]{}<> \t\n"\\!@#$%^&|;'+=]|^\.|\.$|^$/;

/** `path` is the JSON path of the server. */
export function refuseHttps(
  run: Compilation,
  path: string,
  app: HttpAppConfig,
  server: HttpServerConfig,
  listeners: readonly ListenerSpec[],
): void {
  if (server.tls_connection_policies.length > 0) {
    run.fail(
      `${path}.tls_connection_policies`,
      `${describeServer(server)} needs HTTPS (by https:// in its address or by a tls directive), ` +
        'which this version does not serve yet: write http:// in front of the address, and no tls directive',
    );
  }
  const onlyOn = (port: number): boolean => listeners.every((listener) => listener.port === port);
  if (server.automatic_https.disable) return warnPlain(run, path, app, server, listeners);
  if (onlyOn(app.http_port)) return;
  const host = firstSecureHost(server);
  if (host !== null) {
    const port = onlyOn(app.https_port) || onlyOn(INHERITED_PORT) ? '' : `:${listeners[0]?.port}`;
    refuse(run, `${path}.routes.${host.route}`, host.name, `http://${host.name}${port}`);
  }
  if (onlyOn(app.https_port)) refuse(run, path, `:${app.https_port}`, 'another port');
}

function refuse(run: Compilation, path: string, site: string, instead: string): never {
  return run.fail(
    path,
    `${site} needs HTTPS, which this version does not serve yet: ` +
      `write ${instead}, or put auto_https off in the global options`,
  );
}

/** Browsers speak TLS to this port: that it is plain HTTP should surprise nobody. */
function warnPlain(
  run: Compilation,
  path: string,
  app: HttpAppConfig,
  server: HttpServerConfig,
  listeners: readonly ListenerSpec[],
): void {
  if (!listeners.some((listener) => listener.port === app.https_port)) return;
  run.warn(
    `${path}.routes.0`,
    'auto_https',
    `${describeServer(server)} is served as plain HTTP on port ${app.https_port}, because auto_https is off: ` +
      'write http:// in front of the address to use the HTTP port',
  );
}

function firstSecureHost(server: HttpServerConfig): { readonly name: string; readonly route: number } | null {
  const skipped = new Set(server.automatic_https.skip.map((host) => host.toLowerCase()));
  for (const [route, { match }] of server.routes.entries()) {
    const hosts = match.flatMap((set) => set.host ?? []);
    const name = hosts.find((host) => !NO_CERTIFICATE.test(host) && !skipped.has(host.toLowerCase()));
    if (name !== undefined) return { name, route };
  }
  return null;
}

function describeServer(server: HttpServerConfig): string {
  const hosts = server.routes.flatMap((route) => route.match.flatMap((set) => set.host ?? []));
  return hosts[0] ?? server.listen[0] ?? 'this server';
}
