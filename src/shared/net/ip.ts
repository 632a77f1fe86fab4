/**
 * IP addresses as bytes. Every place that trusts, hashes, logs or forwards an address goes through
 * `parseIp`, so that one address has one spelling (RFC 5952) and one set of bytes.
 */
export interface IpAddress {
  readonly family: 4 | 6;
  /** 4 or 16 bytes, network order. IPv4-mapped IPv6 (`::ffff:a.b.c.d`) has been turned into IPv4. */
  readonly bytes: Uint8Array;
  /** Canonical text (RFC 5952 for IPv6), without zone. */
  readonly text: string;
}
