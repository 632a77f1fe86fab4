import { joinHostPort } from '../../../shared/net/address.ts';
import type { ProbeTarget } from '../probe.ts';
import type { HttpProbeOptions } from './http-options.ts';
import type { ResponseReader } from './http-response.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Path and query to ask next; null when the response is no redirect, or leads away from the address
 * that is checked: another server's health says nothing about this one.
 */
export function redirectTarget(
  target: ProbeTarget,
  options: HttpProbeOptions,
  uri: string,
  response: ResponseReader,
): string | null {
  const location = response.field('location');
  if (!REDIRECTS.has(response.status) || location === '') return null;
  const scheme = options.tls === null ? 'http' : 'https';
  const base = `${scheme}://${options.authority}`;
  const next = URL.parse(location, `${base}${uri}`);
  if (next === null || next.protocol !== `${scheme}:`) return null;
  const own = [base, `${scheme}://${joinHostPort(target.host, target.port)}`, `${scheme}://${hostField(options)}`];
  const same = own.some((text) => URL.parse(text)?.host === next.host);
  return same ? `${next.pathname}${next.search}` : null;
}

/** The Host field the check sends: servers build their redirects from it. */
function hostField(options: HttpProbeOptions): string {
  for (let at = 0; at + 1 < options.headers.length; at += 2) {
    if (options.headers[at]!.toLowerCase() === 'host') return options.headers[at + 1]!;
  }
  return options.host ?? options.authority;
}
