/** `host:port` texts: taking them apart and putting them together, brackets around IPv6 included. */

/** Begins the host of an endpoint that is a Unix socket. */
const UNIX = 'unix/';

export interface HostPort {
  /** A name or an address, without brackets; '' in `:8080`. */
  readonly host: string;
  /** null when the text has none. */
  readonly port: number | null;
}

/**
 * Splits `host`, `host:port`, `:port`, `[v6]`, `[v6]:port` and bare IPv6. A text with two or more colons
 * and no brackets is an IPv6 address without a port: `2001:db8::1:443` is an address.
 * null when brackets or port are wrong. The host itself is not checked.
 */
export function splitHostPort(text: string): HostPort | null {
  if (text.startsWith('[')) return splitBracketed(text);
  const colon = text.indexOf(':');
  if (colon < 0) return { host: text, port: null };
  if (text.indexOf(':', colon + 1) >= 0) return { host: text, port: null };
  return withPort(text.slice(0, colon), text.slice(colon + 1));
}

/** Prints `host:port`, an IPv6 host in brackets. A Unix socket (`unix/<path>`) has no port. */
export function joinHostPort(host: string, port: number): string {
  if (host.startsWith(UNIX)) return host;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The path in `unix/<path>`, null for every other host. A leading `@` stands for the NUL of Linux's abstract names. */
export function unixPath(host: string): string | null {
  if (!host.startsWith(UNIX)) return null;
  const path = host.slice(UNIX.length);
  return path.startsWith('@') ? `\0${path.slice(1)}` : path;
}

/** What `net.connect` takes to get to an address or a Unix socket. */
export function dialOptions(host: string, port: number): { host: string; port: number } | { path: string } {
  const path = unixPath(host);
  return path === null ? { host, port } : { path };
}

/** Reads a port, 0 … 65535 in at most five digits; −1 for anything else. */
export function parsePort(text: string): number {
  if (text.length === 0 || text.length > 5) return -1;
  let port = 0;
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    port = port * 10 + digit;
  }
  return port <= 65535 ? port : -1;
}

function splitBracketed(text: string): HostPort | null {
  const close = text.indexOf(']');
  if (close < 0) return null;
  const host = text.slice(1, close);
  if (close === text.length - 1) return { host, port: null };
  return text[close + 1] === ':' ? withPort(host, text.slice(close + 2)) : null;
}

function withPort(host: string, portText: string): HostPort | null {
  const port = parsePort(portText);
  return port < 0 ? null : { host, port };
}
