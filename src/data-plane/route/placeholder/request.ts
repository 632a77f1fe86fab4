/** `http.request.…` and `http.vars.…`. */
import { joinHostPort } from '../../../shared/net/address.ts';
import { FIELD_COOKIE, protocolName } from '../../http1/head.ts';
import { readTlsFact } from '../tls-facts.ts';
import type { RequestView } from '../request-view.ts';
import { portOfAuthority } from '../target.ts';
import type { Placeholder, Read } from './placeholder.ts';
import { uriPlaceholder } from './uri.ts';

const REQUEST = 'http.request.';
const VARS = 'http.vars.';

const FIXED: Readonly<Record<string, Read>> = Object.freeze({
  method: (request: RequestView) => request.method,
  orig_method: (request: RequestView) => request.head.method,
  scheme: (request: RequestView) => request.scheme,
  host: (request: RequestView) => request.host,
  hostport: (request: RequestView) => request.hostport,
  port: (request: RequestView) => portOfAuthority(request.hostport),
  proto: (request: RequestView) => protocolName(request.head.version),
  remote: (request: RequestView) => (request.peer === null ? '' : joinHostPort(request.peer.text, request.peerPort)),
  'remote.host': (request: RequestView) => request.peer?.text ?? '',
  'remote.port': (request: RequestView) => String(request.peerPort),
  local: (request: RequestView) => joinHostPort(request.localAddress, request.localPort),
  'local.host': (request: RequestView) => request.localAddress,
  'local.port': (request: RequestView) => String(request.localPort),
  uuid: (request: RequestView) => request.uuid(),
});

/** null when the name is not one of these. */
export function requestPlaceholder(name: string): Placeholder | null {
  if (name.startsWith(VARS)) return { read: variable(name.slice(VARS.length)) };
  if (!name.startsWith(REQUEST)) return null;
  const rest = name.slice(REQUEST.length);
  const fixed = Object.hasOwn(FIXED, rest) ? FIXED[rest] : undefined;
  if (fixed !== undefined) return { read: fixed };
  if (rest.startsWith('tls.')) {
    const read = readTlsFact(rest.slice('tls.'.length));
    return read === undefined ? null : { read: (request) => read(request.tls) };
  }
  if (rest.startsWith('header.')) return { read: field(rest.slice('header.'.length)) };
  if (rest.startsWith('cookie.')) return { read: cookie(rest.slice('cookie.'.length)) };
  if (/^host\.labels\.\d{1,3}$/.test(rest)) return { read: hostLabel(Number(rest.slice('host.labels.'.length))) };
  if (rest.startsWith('uri')) return uriPlaceholder(rest.slice('uri'.length), (request) => request.target);
  if (rest.startsWith('orig_uri')) {
    return uriPlaceholder(rest.slice('orig_uri'.length), (request) => request.head.originForm);
  }
  return null;
}

/** The derived client address and its trust come first: no `vars` handler can change what other parts rely on. */
function variable(name: string): Read {
  if (name === 'client_ip') return (request) => request.client?.text ?? '';
  if (name === 'trusted_proxy') return (request) => String(request.trusted);
  return (request) => request.vars.get(name) ?? '';
}

/** All lines of the field, joined with commas as lists are (RFC 9110 section 5.3). */
function field(name: string): Read {
  const lower = name.toLowerCase();
  if (lower === 'host') return (request) => request.hostport;
  return ({ head }) => {
    let at = head.findField(lower, 0);
    if (at < 0) return '';
    let value = head.valueOf(at);
    for (at = head.findField(lower, at + 1); at >= 0; at = head.findField(lower, at + 1))
      value += `,${head.valueOf(at)}`;
    return value;
  };
}

/** The first cookie of that name, any case, as Caddy looks it up. */
function cookie(name: string): Read {
  const lower = name.toLowerCase();
  return ({ head }) => {
    for (const pair of head.joined(FIELD_COOKIE, ';').split(';')) {
      const equals = pair.indexOf('=');
      if (equals > 0 && pair.slice(0, equals).trim().toLowerCase() === lower) return pair.slice(equals + 1).trim();
    }
    return '';
  };
}

/** Labels are counted from the right: 0 is `com` of `www.example.com`. */
function hostLabel(index: number): Read {
  return (request) => request.host.split('.').at(-1 - index) ?? '';
}
