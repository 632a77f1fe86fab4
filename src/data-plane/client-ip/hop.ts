/** One entry of a forwarding header: an address as proxies really write it (ports, brackets, zones, spaces). */
import { splitHostPort } from '../../shared/net/address.ts';
import { parseIp, type IpAddress } from '../../shared/net/ip.ts';

/**
 * Reads `1.2.3.4`, `1.2.3.4:55123`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443`, zones and mapped
 * forms. Without brackets `2001:db8::1:443` is an address. null = junk (`unknown`, `_hidden`,
 * `010.0.0.1`, a name, an empty port): never a client address.
 */
export function parseHop(text: string): IpAddress | null {
  const trimmed = trimSpaces(text);
  const bare = parseIp(trimmed);
  if (bare !== null) return bare;
  const parts = splitHostPort(trimmed);
  if (parts === null) return null;
  // Brackets are for IPv6 alone; without them only IPv4 can carry a port.
  const isV6 = parts.host.includes(':');
  return isV6 === trimmed.startsWith('[') ? parseIp(parts.host) : null;
}

/** Cuts the optional white space of RFC 9110 section 5.6.3 (space and tab, nothing else). */
export function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
