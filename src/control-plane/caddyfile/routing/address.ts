import { failure } from '../syntax/failure.ts';
import type { Token } from '../syntax/token.ts';

/** A site address: `[scheme://]host[:port][/path]`. */
export interface SiteAddress {
  readonly scheme: '' | 'http' | 'https';
  /** Lower case, without brackets; '' = all hosts. */
  readonly host: string;
  /** '' when not written. */
  readonly port: string;
  readonly path: string;
  readonly token: Token;
}

export function parseAddress(token: Token): SiteAddress {
  const [, scheme = '', rest = ''] = /^(?:([^:/{}]*):\/\/)?(.*)$/s.exec(token.text) ?? [];
  const slash = rest.indexOf('/');
  const authority = slash === -1 ? rest : rest.slice(0, slash);
  const { host, port } = splitHostPort(authority, token);
  return {
    scheme: checkScheme(scheme.toLowerCase(), token),
    host: lowerExceptPlaceholders(host),
    port: checkPort(port, token),
    path: slash === -1 ? '' : rest.slice(slash),
    token,
  };
}

/** One text for one address, to find the same address written twice. */
export function addressKey(address: SiteAddress): string {
  const { scheme, host, port, path } = address;
  const authority = host.includes(':') ? `[${host}]` : host;
  return `${scheme === '' ? '' : `${scheme}://`}${authority}${port === '' ? '' : `:${port}`}${path}`;
}

function checkScheme(scheme: string, token: Token): '' | 'http' | 'https' {
  if (scheme === '' || scheme === 'http' || scheme === 'https') return scheme;
  if (scheme === 'ws' || scheme === 'wss') {
    const instead = scheme === 'ws' ? 'http' : 'https';
    throw failure(token, `the scheme ${scheme}:// is only supported in browsers; use ${instead}:// instead`);
  }
  throw failure(token, `unsupported URL scheme ${scheme}://`);
}

function splitHostPort(authority: string, token: Token): { host: string; port: string } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/s.exec(authority);
  if (bracketed !== null) return { host: bracketed[1] ?? '', port: bracketed[2] ?? '' };
  const outside = authority.replace(/\{[^}]*\}/g, (placeholder) => 'x'.repeat(placeholder.length));
  const colons = outside.split(':').length - 1;
  if (colons === 0) return { host: authority, port: '' };
  if (colons > 1)
    throw failure(token, `the address '${authority}' has too many colons: put an IPv6 address in brackets`);
  const colon = outside.indexOf(':');
  const port = authority.slice(colon + 1);
  if (port === '') throw failure(token, `the address '${authority}' ends with a colon: write a port after it`);
  return { host: authority.slice(0, colon), port };
}

function checkPort(port: string, token: Token): string {
  if (port === '') return port;
  if (!/^-?\d+$/.test(port)) throw failure(token, `invalid port '${port}': write a number from 0 to 65535`);
  const value = Number(port);
  if (value < 0 || value > 65_535) throw failure(token, `port ${port} is out of range`);
  return String(value);
}

function lowerExceptPlaceholders(host: string): string {
  return host
    .split(/(\{[^}]*\})/)
    .map((part) => (part.startsWith('{') ? part : part.toLowerCase()))
    .join('');
}
