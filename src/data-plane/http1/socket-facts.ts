/** What is known of a client's connection from its socket. */
import type { Socket } from 'node:net';
import { parseIp, type IpAddress } from '../../shared/net/ip.ts';
import { hostOfAuthority } from '../route/target.ts';
import type { ConnectionFacts } from '../proxy/request-facts.ts';
import type { HttpServer } from '../server.ts';
import type { TlsFacts } from '../route/tls-facts.ts';
import type { Head } from './head.ts';

/**
 * The request is for another host than the one its handshake was for, and that matters: client certificates are asked
 * for by the name in the handshake (RFC 9110 section 15.5.20).
 */
export function isMisdirected({ tls: policies }: HttpServer, tls: TlsFacts, head: Head): boolean {
  if (policies?.strictSniHost !== true) return false;
  return hostOfAuthority(head.authority) !== tls.serverName;
}

export abstract class SocketFacts implements ConnectionFacts {
  protected readonly socket: Socket;
  /** The TCP socket itself: the same one without TLS. */
  protected readonly raw: Socket;
  readonly tls: TlsFacts | null;
  #peer: IpAddress | null | undefined = undefined;

  constructor(socket: Socket, raw: Socket, tls: TlsFacts | null) {
    this.socket = socket;
    this.raw = raw;
    this.tls = tls;
  }

  /** The TCP peer, canonical; null when the socket has none any more. */
  get peer(): IpAddress | null {
    if (this.#peer === undefined) this.#peer = parseIp(this.raw.remoteAddress ?? '');
    return this.#peer;
  }

  /** Its listener is still served, and its handshake would be held to the same policy today. */
  mayStay(server: HttpServer | undefined): boolean {
    if (server === undefined) return false;
    return this.tls === null || server.tls?.find(this.tls.serverName, this.raw)?.key === this.tls.policyKey;
  }

  get peerPort(): number {
    return this.raw.remotePort ?? 0;
  }

  get localAddress(): string {
    return this.raw.localAddress ?? '';
  }

  get localPort(): number {
    return this.raw.localPort ?? 0;
  }
}
