/**
 * The PROXY protocol as a sender: the first bytes of a connection tell the upstream who the client is.
 * Specification: haproxy.org, proxy-protocol.txt, sections 2.1 (v1) and 2.2 (v2).
 */
import { parseIp, type IpAddress } from './ip.ts';

/** What is known of the client and of the connection it came on. */
export interface ProxiedClient {
  /** The derived client address; null = unknown. */
  readonly client: IpAddress | null;
  /** The TCP peer. */
  readonly peer: IpAddress | null;
  readonly peerPort: number;
  readonly localAddress: string;
  readonly localPort: number;
}

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n';
const V2_PROXY = '\x21';
const V2_LOCAL = '\x20';
const V2_TCP4 = '\x11';
const V2_TCP6 = '\x21';
const V2_UNSPEC = '\0';

/**
 * The header of a request's connection, as latin1 text. The source is the derived client address; its port is known,
 * and not 0, only where the client is the TCP peer. The destination is where the client connected to, when that is an
 * address of the same family, else zero.
 */
export function proxyHeader(version: 'v1' | 'v2', of: ProxiedClient): string {
  const { client, peer } = of;
  if (client === null) return localProxyHeader(version);
  const port = peer !== null && peer.text === client.text ? of.peerPort : 0;
  const v6 = client.family === 6;
  const local = parseIp(of.localAddress);
  const known = local !== null && local.family === client.family;
  const target = known ? local : parseIp(v6 ? '::' : '0.0.0.0')!;
  const targetPort = known ? of.localPort : 0;
  if (version === 'v1') {
    return `PROXY ${v6 ? 'TCP6' : 'TCP4'} ${client.text} ${target.text} ${port} ${targetPort}\r\n`;
  }
  const block = String.fromCharCode(...client.bytes, ...target.bytes) + word(port) + word(targetPort);
  return SIGNATURE + V2_PROXY + (v6 ? V2_TCP6 : V2_TCP4) + word(block.length) + block;
}

/** For connections of our own, such as those of health checks: there is no client. */
export function localProxyHeader(version: 'v1' | 'v2'): string {
  return version === 'v1' ? 'PROXY UNKNOWN\r\n' : SIGNATURE + V2_LOCAL + V2_UNSPEC + word(0);
}

/** Two bytes, the high one first. */
function word(value: number): string {
  return String.fromCharCode(value >> 8, value & 0xff);
}
