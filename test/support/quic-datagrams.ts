/** Datagrams of QUIC as far as anybody but the two ends can read them (RFC 8999); the rest is made up. */

/** A packet of the handshake: `destination` is whom it is for, `source` how the sender wants to be called. */
export function quicLong(destination: Buffer, source: Buffer, version = 1, rest: Buffer = Buffer.alloc(30)): Buffer {
  const head = Buffer.of(0xc0, 0, 0, 0, 0, destination.length);
  head.writeUInt32BE(version, 1);
  return Buffer.concat([head, destination, Buffer.of(source.length), source, rest]);
}

/** A packet after the handshake. */
export function quicShort(destination: Buffer, rest: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x40), destination, rest]);
}
