/**
 * X-Forwarded-For, -Proto and -Host as they go upstream (PURE). '' always means: send no such header.
 *
 * A trusted prior value is not copied but rebuilt. Backends walk the list too, often with a more
 * lenient reader, so it must hold nothing but addresses, and nothing that our own scan did not believe:
 * the list is cut at the right-most junk entry (dropping the junk alone would splice what a client wrote
 * on to what proxies wrote), ports, brackets and zones go, spellings become canonical.
 */
import type { IpAddress } from '../../shared/net/ip.ts';
import { trimSpaces } from './hop.ts';
import { scanHops } from './scan.ts';

/**
 * `prior` is every incoming line joined with ', '. Without a peer address (Unix socket) there is
 * nothing to append: a trusted list goes on alone.
 */
export function forwardedFor(peer: IpAddress | null, trusted: boolean, prior: string): string {
  let list = peer?.text ?? '';
  if (!trusted || prior === '') return list;
  scanHops(prior, (hop) => {
    if (hop === null) return false;
    list = list === '' ? hop.text : `${hop.text}, ${list}`;
    return true;
  });
  return list;
}

/**
 * The client's scheme. `prior` is the last incoming line; of a list its right-most entry counts, which
 * the nearest proxy wrote. A value that is no web scheme is replaced by what we see ourselves.
 */
export function forwardedProto(trusted: boolean, prior: string, tls: boolean): string {
  const claimed = trusted ? lastEntry(prior).toLowerCase() : '';
  return isWebScheme(claimed) ? claimed : tls ? 'https' : 'http';
}

/** A scheme of `forwardedProto` that stands for TLS on the client's side. */
export function isSecureScheme(scheme: string): boolean {
  return scheme === 'https' || scheme === 'wss';
}

/** `host` is the request's Host including port. A claimed host that could not be one is replaced by it. */
export function forwardedHost(trusted: boolean, prior: string, host: string): string {
  const claimed = trusted ? lastEntry(prior) : '';
  return /^[^\s"'(),/<=>?@\\{}\x00-\x1f\x7f]+$/.test(claimed) ? claimed : host;
}

function lastEntry(list: string): string {
  return trimSpaces(list.slice(list.lastIndexOf(',') + 1));
}

function isWebScheme(text: string): boolean {
  return text === 'https' || text === 'http' || text === 'wss' || text === 'ws';
}
