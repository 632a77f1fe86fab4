/** From the listener wrappers of a server to what its workers do with PROXY headers. */
import type { HttpServerOptions } from '../../shared/plan/types.ts';
import type { HttpServerConfig } from '../config/schema/http-server.ts';
import type { ProxyProtocolWrapperConfig } from '../config/schema/listener-wrappers.ts';
import type { Compilation } from './compilation.ts';

/** `path`: of the server. Throws where Caddy would look for the header inside of TLS. */
export function compileListenerWrappers(
  run: Compilation,
  path: string,
  { listener_wrappers: wrappers }: HttpServerConfig,
  speaksTls: boolean,
): Pick<HttpServerOptions, 'proxyHeader'> {
  const at = wrappers.findIndex(({ wrapper }) => wrapper === 'proxy_protocol');
  const found = wrappers[at];
  if (found?.wrapper !== 'proxy_protocol') return {};
  const own = `${path}.listener_wrappers.${at}`;
  if (speaksTls && !wrappers.some(({ wrapper }) => wrapper === 'tls')) {
    run.fail(own, 'this server speaks TLS, and without tls proxy_protocol stands behind it: write tls below');
  }
  if (isUseless(found)) {
    run.warn(own, 'servers', 'proxy_protocol believes no PROXY header: name the proxies that send one with allow');
  }
  const { timeout: timeoutMs, deny, allow, fallback_policy: fallback } = found;
  return { proxyHeader: { timeoutMs, deny, allow, fallback } };
}

function isUseless({ allow, fallback_policy: fallback }: ProxyProtocolWrapperConfig): boolean {
  return allow.length === 0 && (fallback === 'ignore' || fallback === 'skip' || fallback === 'reject');
}
