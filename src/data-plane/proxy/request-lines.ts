/** The header lines of a request as they go upstream. */
import { forwardedFor, forwardedHost, forwardedProto } from '../client-ip/forwarded.ts';
import {
  BODY_CHUNKED,
  BODY_NONE,
  FIELD_CONTENT_LENGTH,
  FIELD_EXPECT,
  FIELD_X_FORWARDED_FOR,
  FIELD_X_FORWARDED_HOST,
  FIELD_X_FORWARDED_PROTO,
  FIELD_HOST,
  FIELD_UPGRADE,
  type Head,
} from '../http1/head.ts';
import { applyHeaderOps, type CompiledHeaderOps } from '../route/header-ops.ts';
import type { RequestView } from '../route/request-view.ts';
import {
  CHUNKED_REQUEST_DROP,
  CHUNKED_REQUEST_DROP_WITH_HOST,
  EMPTIED_REQUEST_DROP,
  EMPTIED_REQUEST_DROP_WITH_HOST,
  keptFields,
  keptLines,
  linesOf,
  REQUEST_DROP,
  REQUEST_DROP_WITH_HOST,
  viaOf,
  type DropSet,
} from './hop-fields.ts';

/** Protocol a request wants to switch to, lower case; '' = none. h2c is never forwarded: the upgrade is between client and us. */
export function wantedUpgrade(head: Head): string {
  if (!head.upgrade) return '';
  const protocol = head.joined(FIELD_UPGRADE, ', ').toLowerCase();
  return protocol.split(',').some((token) => token.trim() === 'h2c') ? '' : protocol;
}

/**
 * `trusted`: the peer may speak for others, so what it says in X-Forwarded-* is extended instead of
 * replaced. `fallbackHost` is sent when an HTTP/1.0 client named no host, `hostSent` (not '') in any case.
 */
export function requestLines(
  request: RequestView,
  trusted: boolean,
  fallbackHost: string,
  ops: readonly CompiledHeaderOps[],
  hostSent: string,
): string {
  const { head } = request;
  const own = hostSent === '' && request.hostport === head.known(FIELD_HOST) && request.hostport !== '';
  const drop = dropOf(head, own);
  const host = own ? '' : `Host: ${hostSent || request.hostport || fallbackHost}\r\n`;
  const forwarded = trusted ? trustedForwarded(request) : plainForwarded(request);
  const via = `Via: ${viaOf(head.version)}\r\n`;
  const lines =
    ops.length === 0
      ? host + keptLines(head, drop) + forwarded + via
      : linesOf(operate(request, host + forwarded + via, keptFields(head, drop), ops));
  return lines + legLines(head);
}

function operate(request: RequestView, added: string, fields: string[], ops: readonly CompiledHeaderOps[]): string[] {
  for (const line of added.split('\r\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.push(line.slice(0, colon), line.slice(colon + 2));
  }
  for (const op of ops) applyHeaderOps(op, fields, request);
  return fields;
}

function dropOf(head: Head, keepHost: boolean): DropSet {
  // A head without a body that announces one: the proxy dropped it.
  if (head.body === BODY_NONE && (head.first[FIELD_CONTENT_LENGTH]! >= 0 || head.first[FIELD_EXPECT]! >= 0)) {
    return keepHost ? EMPTIED_REQUEST_DROP : EMPTIED_REQUEST_DROP_WITH_HOST;
  }
  if (head.body === BODY_CHUNKED) return keepHost ? CHUNKED_REQUEST_DROP : CHUNKED_REQUEST_DROP_WITH_HOST;
  return keepHost ? REQUEST_DROP : REQUEST_DROP_WITH_HOST;
}

/** Framing and connection fields of the upstream leg. */
function legLines(head: Head): string {
  const framing = head.body === BODY_CHUNKED ? 'Transfer-Encoding: chunked\r\n' : '';
  const protocol = wantedUpgrade(head);
  if (protocol !== '') return `${framing}Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`;
  return head.acceptsTrailers ? `${framing}Connection: TE\r\nTE: trailers\r\n` : framing;
}

function plainForwarded(request: RequestView): string {
  if (request.peer === null) return '';
  const lines = `X-Forwarded-For: ${request.peer.text}\r\nX-Forwarded-Proto: ${request.scheme}\r\n`;
  return request.hostport === '' ? lines : `${lines}X-Forwarded-Host: ${request.hostport}\r\n`;
}

function trustedForwarded(request: RequestView): string {
  const { head } = request;
  const list = forwardedFor(request.peer, true, head.joined(FIELD_X_FORWARDED_FOR, ', '));
  const proto = forwardedProto(true, head.joined(FIELD_X_FORWARDED_PROTO, ', '), request.scheme === 'https');
  const host = forwardedHost(true, head.joined(FIELD_X_FORWARDED_HOST, ', '), request.hostport);
  const lines = `X-Forwarded-For: ${list}\r\nX-Forwarded-Proto: ${proto}\r\n`;
  return host === '' ? lines : `${lines}X-Forwarded-Host: ${host}\r\n`;
}
