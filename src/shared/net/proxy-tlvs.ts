/** What a PROXY v2 header says besides addresses (proxy-protocol.txt, section 2.2): type, length, value. PURE. */
import { crc32c } from './crc32c.ts';

export interface ProxyTlv {
  /** 1 … 255. */
  readonly type: number;
  /** latin1. */
  readonly value: string;
}

export const TLV_AUTHORITY = 0x02;
export const TLV_UNIQUE_ID = 0x05;
export const TLV_SSL = 0x20;
const TLV_CRC32C = 0x03;
/** Where the header says how much follows its fixed part. */
const LENGTH_AT = 14;
const FIXED_BYTES = 16;

/** A v2 header (latin1) with these appended. `checksum` adds a CRC-32C over all of it. Throws above 65 535 bytes. */
export function withTlvs(header: string, tlvs: readonly ProxyTlv[], checksum: boolean): Buffer {
  const all = checksum ? [...tlvs, { type: TLV_CRC32C, value: '\0\0\0\0' }] : tlvs;
  const out = Buffer.from(header + all.map(tlvText).join(''), 'latin1');
  out.writeUInt16BE(out.length - FIXED_BYTES, LENGTH_AT);
  if (checksum) out.writeUInt32BE(crc32c(out), out.length - 4);
  return out;
}

/** One of them (latin1). Inside of `TLV_SSL` stand others. */
export function tlvText({ type, value }: ProxyTlv): string {
  return String.fromCharCode(type, value.length >> 8, value.length & 0xff) + value;
}
