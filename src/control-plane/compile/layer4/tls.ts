/** The `tls` handler of a layer-4 server. */
import type { Layer4TlsPlan } from '../../../shared/plan/layer4.ts';
import type { Layer4AppConfig } from '../../config/schema/layer4/app.ts';
import type { Layer4RouteConfig, Layer4TlsConfig } from '../../config/schema/layer4/routes.ts';
import { tlsPolicySchema } from '../../config/schema/tls-policy.ts';
import type { Compilation } from '../compilation.ts';
import type { HttpsPlan } from '../tls/https.ts';
import { compilePolicy } from '../tls/policies.ts';

const HANDSHAKE_TIMEOUT_MS = 10_000;

const NO_CERTIFICATE =
  'tls has no certificate to show: lead to it with a matcher tls sni <name>, write default_sni in a connection_policy, or ' +
  'load one in apps.tls.certificates';

/** Certificates of the whole config. */
export type ServedTls = Pick<HttpsPlan, 'tls' | 'asks'>;

export function compileLayer4Tls(
  run: Compilation,
  path: string,
  config: Layer4TlsConfig,
  { tls, asks }: ServedTls,
): Layer4TlsPlan {
  if (tls.certificates.length === 0 && asks !== 'all') run.fail(path, NO_CERTIFICATE);
  const written = config.connection_policies;
  const policies = written.length > 0 ? written : [tlsPolicySchema.parse({})];
  return {
    handler: 'tls',
    // What is spoken inside is not known here: any name may be agreed on.
    policies: policies.map((policy, at) => compilePolicy(run, `${path}.connection_policies.${at}`, policy, null)),
    handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
    ...(asks === null ? {} : { asks }),
  };
}

/**
 * Names that clients of `tls` handlers ask for, lower case, each with the JSON path it was written at: those of the
 * `tls` matchers that lead there, and of its own policies.
 */
export function layer4TlsNames({ servers }: Layer4AppConfig): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const note = (found: readonly string[], path: string): void => {
    for (const name of found.map((text) => text.toLowerCase()))
      if (name !== '' && !names.has(name)) names.set(name, path);
  };
  for (const [name, { routes }] of Object.entries(servers)) {
    collect(`apps.layer4.servers.${name}.routes`, routes, [], note);
  }
  return names;
}

type Note = (names: readonly string[], path: string) => void;

/** `outer`: names that the routes around these are for. */
function collect(path: string, routes: readonly Layer4RouteConfig[], outer: readonly string[], note: Note): void {
  for (const [at, { match, handle }] of routes.entries()) {
    const own = match.flatMap(({ tls }) => tls?.sni ?? []);
    const names = own.length > 0 ? own : outer;
    for (const [index, handler] of handle.entries()) {
      const place = `${path}.${at}.handle.${index}`;
      if (handler.handler === 'tls') {
        note(names, place);
        for (const policy of handler.connection_policies) {
          note([...(policy.match?.sni ?? []), policy.default_sni, policy.fallback_sni], place);
        }
      } else if (handler.handler === 'subroute') {
        collect(`${place}.routes`, handler.routes, names, note);
      }
    }
  }
}
