/** Who the client is (PURE): the peer, or what trusted proxies say about it, read from the right. */
import type { PrefixSet } from '../../shared/net/cidr.ts';
import type { IpAddress } from '../../shared/net/ip.ts';
import { scanHops } from './scan.ts';

/** What the scan thought of one entry. */
export interface HopVerdict {
  /** The entry as received, without surrounding spaces. */
  readonly text: string;
  readonly verdict: 'trusted' | 'client' | 'junk';
}

export interface ClientDerivation {
  /** null when the peer has no address (a Unix socket) and no header named one. */
  readonly client: IpAddress | null;
  /** The peer is a trusted proxy. */
  readonly trusted: boolean;
  /** Entries looked at, right-most first; those to the left of the last one were not looked at. */
  readonly hops: readonly HopVerdict[];
  /** One sentence. */
  readonly why: string;
}

/** The peer may speak for others. A peer without address (Unix socket) is never trusted by a prefix. */
export function isTrustedPeer(peer: IpAddress | null, trusted: PrefixSet | null): boolean {
  return peer !== null && trusted !== null && trusted.contains(peer);
}

/**
 * The client's address. `list` is every line of the header in force joined with ', ' ('' = absent).
 * The left end of the list is whatever the client wrote; only what a trusted hop appended counts, so
 * the scan goes from the right and stops at the first untrusted address or at junk.
 */
export function deriveClient(peer: IpAddress | null, trusted: PrefixSet | null, list: string): IpAddress | null {
  if (list === '' || peer === null || trusted === null || !trusted.contains(peer)) return peer;
  let client = peer;
  scanHops(list, (hop) => {
    if (hop === null) return false;
    client = hop;
    return trusted.contains(hop);
  });
  return client;
}

/** As `deriveClient`, with the reasons. */
export function explainClient(peer: IpAddress | null, trusted: PrefixSet | null, list: string): ClientDerivation {
  if (peer === null || trusted === null || !trusted.contains(peer)) return unbelieved(peer, trusted);
  const hops: HopVerdict[] = [];
  scanHops(list, (hop, text) => {
    const verdict = hop === null ? 'junk' : trusted.contains(hop) ? 'trusted' : 'client';
    hops.push({ text, verdict });
    return verdict === 'trusted';
  });
  return { client: deriveClient(peer, trusted, list), trusted: true, hops, why: reason(peer, hops) };
}

function unbelieved(peer: IpAddress | null, trusted: PrefixSet | null): ClientDerivation {
  const why =
    peer === null
      ? 'the peer has no IP address'
      : trusted === null
        ? `no trusted_proxies are configured: the peer ${peer.text} is the client`
        : `the peer ${peer.text} is not in trusted_proxies: it is the client, its forwarding headers are not believed`;
  return { client: peer, trusted: false, hops: [], why };
}

function reason(peer: IpAddress, hops: readonly HopVerdict[]): string {
  const last = hops.at(-1);
  if (last === undefined) return `the trusted peer ${peer.text} names no client: it is the client itself`;
  switch (last.verdict) {
    case 'client':
      return `from the right, ${last.text} is the first address that is not trusted`;
    case 'junk':
      return `from the right, '${last.text}' is no IP address: the last good hop before it is the client`;
    case 'trusted':
      return 'every address is trusted: the left-most one is the client';
  }
}
