/** Castagnoli polynomial, bits reversed (RFC 3720 appendix B.4). */
const POLYNOMIAL = 0x82f63b78;

/** CRC-32C of a short text, as an unsigned number (PURE). Bit by bit: a table is not worth its memory here. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (POLYNOMIAL & -(crc & 1));
  }
  return (crc ^ 0xffffffff) >>> 0;
}
