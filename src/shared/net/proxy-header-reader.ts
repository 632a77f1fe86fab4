/**
 * The PROXY protocol as a receiver (PURE). Specification: haproxy.org, proxy-protocol.txt, sections 2.1 (v1) and 2.2
 * (v2). Strict where a sender has no choice: what begins a connection decides who its client is.
 */
import { crc32c } from './crc32c.ts';
import { ipFromBytes, parseIp, type IpAddress } from './ip.ts';
import { parsePort } from './address.ts';

export interface ProxyEnds {
  readonly source: IpAddress;
  readonly sourcePort: number;
  readonly destination: IpAddress;
  readonly destinationPort: number;
}

interface ProxyHeader {
  /** Bytes of the header: what follows is payload. */
  readonly length: number;
  /** null = LOCAL, UNKNOWN or of a family that is no IP: the ends are those of the connection. */
  readonly ends: ProxyEnds | null;
}

/** 'more': not whole yet. 'bad': no PROXY header, or a broken one. */
export type ProxyHeaderRead = ProxyHeader | 'more' | 'bad';

const V1_START = 'PROXY ';
/** The longest line there can be, CRLF included. */
const V1_MAX_BYTES = 107;
const V2_SIGNATURE = '\r\n\r\n\0\r\nQUIT\n';
const V2_FIXED_BYTES = 16;
/** Addresses and TLVs; the length field would allow four times as many. */
const V2_MAX_BYTES = 16_384;
const COMMAND_LOCAL = 0;
const COMMAND_PROXY = 1;
/** AF_UNSPEC, AF_INET, AF_INET6, AF_UNIX: bytes of their addresses, ports included. */
const ADDRESS_BYTES: readonly number[] = [0, 12, 36, 216];
const MAX_TRANSPORT = 2;
const TLV_HEADER_BYTES = 3;
const TLV_CRC32C = 0x03;

/** `transport`: what carries the header. A header that speaks of the other kind names no ends. */
export function readProxyHeader(bytes: Buffer, transport: 'stream' | 'datagram'): ProxyHeaderRead {
  if (bytes.length === 0) return 'more';
  if (begins(bytes, V2_SIGNATURE)) return readV2(bytes, transport === 'stream' ? 1 : 2);
  return begins(bytes, V1_START) ? readV1(bytes) : 'bad';
}

/** As far as there are bytes, a header could begin with them; no request and no ClientHello does. */
export function mayBeProxyHeader(bytes: Buffer): boolean {
  return begins(bytes, V2_SIGNATURE) || begins(bytes, V1_START);
}

/** As far as there are bytes, they are those of `text`. */
function begins(bytes: Buffer, text: string): boolean {
  const length = Math.min(bytes.length, text.length);
  return bytes.toString('latin1', 0, length) === text.slice(0, length);
}

function readV1(bytes: Buffer): ProxyHeaderRead {
  const text = bytes.toString('latin1', 0, Math.min(bytes.length, V1_MAX_BYTES));
  const end = text.indexOf('\r\n');
  if (end < 0) return text.length < V1_MAX_BYTES && !text.includes('\n') ? 'more' : 'bad';
  const length = end + 2;
  const line = text.slice(V1_START.length, end);
  // Whatever follows the word is to be ignored.
  if (line === 'UNKNOWN' || line.startsWith('UNKNOWN ')) return { length, ends: null };
  const parts = line.split(' ');
  const [family, from, to, fromPort, toPort] = parts;
  if (parts.length !== 5 || (family !== 'TCP4' && family !== 'TCP6')) return 'bad';
  const source = readAddress(from!, family);
  const destination = readAddress(to!, family);
  const sourcePort = readPort(fromPort!);
  const destinationPort = readPort(toPort!);
  if (source === null || destination === null || sourcePort < 0 || destinationPort < 0) return 'bad';
  return { length, ends: { source, sourcePort, destination, destinationPort } };
}

function readAddress(text: string, family: 'TCP4' | 'TCP6'): IpAddress | null {
  return text.includes(':') === (family === 'TCP6') && !text.includes('%') ? parseIp(text) : null;
}

/** −1 for what is none; no leading zeros. */
function readPort(text: string): number {
  return text.length > 1 && text.startsWith('0') ? -1 : parsePort(text);
}

function readV2(bytes: Buffer, transport: number): ProxyHeaderRead {
  if (bytes.length < V2_FIXED_BYTES) return isFixedPartGood(bytes) ? 'more' : 'bad';
  if (!isFixedPartGood(bytes)) return 'bad';
  const size = bytes.readUInt16BE(14);
  if (size > V2_MAX_BYTES) return 'bad';
  const length = V2_FIXED_BYTES + size;
  if (bytes.length < length) return 'more';
  const header = bytes.subarray(0, length);
  const command = header[12]! & 0x0f;
  // The receiver must take LOCAL whatever else stands there, and skip the addresses.
  if (command === COMMAND_LOCAL) return { length, ends: null };
  const family = header[13]! >> 4;
  const addressBytes = ADDRESS_BYTES[family]!;
  if (size < addressBytes || !areTlvsGood(header, V2_FIXED_BYTES + addressBytes)) return 'bad';
  if ((family !== 1 && family !== 2) || (header[13]! & 0x0f) !== transport) return { length, ends: null };
  return { length, ends: readEnds(header, family === 1 ? 4 : 16) };
}

/** Of as many bytes as there are: version, command, family and transport are ones the specification names. */
function isFixedPartGood(bytes: Buffer): boolean {
  if (bytes.length > 12 && bytes[12] !== 0x20 + COMMAND_LOCAL && bytes[12] !== 0x20 + COMMAND_PROXY) return false;
  if (bytes.length <= 13 || bytes[12] === 0x20 + COMMAND_LOCAL) return true;
  return bytes[13]! >> 4 < ADDRESS_BYTES.length && (bytes[13]! & 0x0f) <= MAX_TRANSPORT;
}

function readEnds(header: Buffer, width: 4 | 16): ProxyEnds {
  const at = V2_FIXED_BYTES;
  return {
    source: ipFromBytes(header.subarray(at, at + width))!,
    destination: ipFromBytes(header.subarray(at + width, at + 2 * width))!,
    sourcePort: header.readUInt16BE(at + 2 * width),
    destinationPort: header.readUInt16BE(at + 2 * width + 2),
  };
}

/** They fill the header exactly, and the checksum is right if there is one (section 2.2.3). All else in them is skipped. */
function areTlvsGood(header: Buffer, from: number): boolean {
  let at = from;
  while (at + TLV_HEADER_BYTES <= header.length) {
    const length = header.readUInt16BE(at + 1);
    const next = at + TLV_HEADER_BYTES + length;
    if (next > header.length) return false;
    if (header[at] === TLV_CRC32C && (length !== 4 || !isChecksumGood(header, at + TLV_HEADER_BYTES))) return false;
    at = next;
  }
  return at === header.length;
}

/** The checksum is that of the header with zeros in its own place. */
function isChecksumGood(header: Buffer, at: number): boolean {
  const copy = Buffer.from(header);
  copy.fill(0, at, at + 4);
  return crc32c(copy) === header.readUInt32BE(at);
}
