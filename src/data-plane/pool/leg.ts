/** The way to endpoints that takes more than HTTP/1.1 in the clear: TLS, HTTP/2, or both. */
import { serverNameOf } from '../../shared/net/upstream-tls.ts';
import type { TransportPlan } from '../../shared/plan/types.ts';
import type { UpstreamTlsPlan } from '../../shared/plan/upstream-tls.ts';

export interface Leg {
  /** What connections to one slot must agree in to stand in for each other. */
  readonly key: string;
  /** null = in the clear. */
  readonly tls: UpstreamTlsPlan | null;
  /** What the certificate is checked for; '' without TLS. */
  readonly serverName: string;
  /** only: every stream is HTTP/2. offer: if the server wants to. */
  readonly http2: 'no' | 'offer' | 'only';
}

const H2C: Leg = Object.freeze({ key: 'h2c', tls: null, serverName: '', http2: 'only' });

/** The legs of one pool. */
export class Legs {
  readonly #transport: TransportPlan;
  readonly #upstream: (position: number) => string;
  /** By position; made when they are first needed. */
  readonly #secured: Leg[] = [];

  /** null = all of the pool is plain HTTP/1.1. */
  static of(transport: TransportPlan, upstream: (position: number) => string): Legs | null {
    return transport.tls === undefined && transport.h2c === undefined ? null : new Legs(transport, upstream);
  }

  constructor(transport: TransportPlan, upstream: (position: number) => string) {
    this.#transport = transport;
    this.#upstream = upstream;
  }

  /** null = plain HTTP/1.1. */
  to(position: number, port: number): Leg | null {
    const { tls, h2c } = this.#transport;
    if (tls === undefined || tls.exceptPorts.includes(port)) return h2c === undefined ? null : H2C;
    return (this.#secured[position] ??= this.#secure(tls, position));
  }

  #secure(tls: UpstreamTlsPlan, position: number): Leg {
    const serverName = serverNameOf(tls, this.#upstream(position));
    const http2 = this.#transport.http2 ?? 'no';
    return { key: `${tls.identity} ${http2} ${serverName}`, tls, serverName, http2 };
  }
}
