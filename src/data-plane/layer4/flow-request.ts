/**
 * A TCP connection or UDP session as a selection policy sees it. What only a request has is empty; the client's
 * address gives the same hash as over HTTP.
 */
import type { Clock } from '../../shared/clock.ts';
import type { IpAddress } from '../../shared/net/ip.ts';
import type { ProxiedClient } from '../../shared/net/proxy-header.ts';
import type { Random } from '../../shared/random.ts';
import type { TriedRequest } from '../proxy/pool-tries.ts';
import type { Affinity, FlowFacts, StickyAction } from '../select/policy.ts';

/** Where a flow came in, as a socket tells it: asked only by what needs it. */
export interface LocalEnd {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

const NONE_TRIED: readonly number[] = Object.freeze([]);

export class FlowRequest implements TriedRequest, ProxiedClient, FlowFacts {
  /** The peer, or the source that its PROXY header names. */
  client: IpAddress | null;
  peerPort: number;
  readonly cookies = '';
  readonly secure = false;
  readonly target = '';
  readonly random: Random;
  tried: readonly number[] = NONE_TRIED;
  affinity: Affinity = '';
  stickyPosition = -1;
  stickyAction: StickyAction = 'keep';
  spilledFrom = -1;
  connectionHash = -1;
  knownPosition = -1;
  readonly #clock: Clock;
  #local: LocalEnd;

  constructor(
    world: { readonly clock: Clock; readonly random: Random },
    client: IpAddress | null,
    peerPort: number,
    local: LocalEnd,
  ) {
    this.#clock = world.clock;
    this.random = world.random;
    this.client = client;
    this.peerPort = peerPort;
    this.#local = local;
  }

  /** A PROXY header names other ends than those of the connection. */
  replaceEnds(client: IpAddress, peerPort: number, local: LocalEnd): void {
    this.client = client;
    this.peerPort = peerPort;
    this.#local = local;
  }

  /** Where the client connected to, by its PROXY header if there was one. */
  get localAddress(): string {
    return this.#local.localAddress ?? '';
  }

  get localPort(): number {
    return this.#local.localPort ?? 0;
  }

  get flow(): FlowFacts {
    return this;
  }

  get peer(): IpAddress | null {
    return this.client;
  }

  get wallMs(): number {
    return this.#clock.wall();
  }

  headerValue(): string {
    return '';
  }

  queryValue(): string {
    return '';
  }

  forgetTried(): void {
    this.tried = NONE_TRIED;
  }
}
