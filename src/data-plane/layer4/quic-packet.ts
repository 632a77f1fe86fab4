/** What anybody can read of a QUIC datagram: the parts that hold for every version (RFC 8999). PURE, HOT. */
import { fnv1aBytes, FNV_OFFSET } from '../select/hash.ts';

/** RFC 8999 section 5: set in the first byte of long headers only. */
const LONG_HEADER = 0x80;
/** First byte and version; the length of the destination id follows. */
const IDS_AT = 5;

/** A packet with a long header: from the handshake, or a negotiation of versions. */
export interface LongHeader {
  /** 0 = a Version Negotiation packet, whose ids only repeat those of the client. */
  readonly version: number;
  /** Connection id that the receiver chose, or that a client made up for it. */
  readonly destination: Buffer;
  /** Connection id that the sender wants to be called by. */
  readonly source: Buffer;
}

/** Of the first packet in the datagram: all packets in one belong to one connection. null = it has a short header, or is no QUIC. */
export function readLongHeader(datagram: Buffer): LongHeader | null {
  if (!hasLongHeader(datagram) || datagram.length <= IDS_AT) return null;
  const destinationAt = IDS_AT + 1;
  const sourceLengthAt = destinationAt + datagram[IDS_AT]!;
  if (datagram.length <= sourceLengthAt) return null;
  const end = sourceLengthAt + 1 + datagram[sourceLengthAt]!;
  if (datagram.length < end) return null;
  return {
    version: datagram.readUInt32BE(1),
    destination: datagram.subarray(destinationAt, sourceLengthAt),
    source: datagram.subarray(sourceLengthAt + 1, end),
  };
}

export function hasLongHeader(datagram: Buffer): boolean {
  return datagram.length > 0 && (datagram[0]! & LONG_HEADER) !== 0;
}

/** Hash of the id that the client calls its server by, −1 = the datagram does not say where it ends. */
export function connectionHashOf(datagram: Buffer): number {
  const header = readLongHeader(datagram);
  return header === null || header.destination.length === 0 ? -1 : fnv1aBytes(FNV_OFFSET, header.destination);
}
