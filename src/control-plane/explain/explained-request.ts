import { isTrustedPeer } from '../../data-plane/client-ip/derive.ts';
import { describeFault } from '../../data-plane/http1/errors.ts';
import { Head } from '../../data-plane/http1/head.ts';
import { DEFAULT_HEAD_LIMITS } from '../../data-plane/http1/limits.ts';
import { parseRequestHead } from '../../data-plane/http1/request-parser.ts';
import { proxyValue } from '../../data-plane/proxy/proxy-values.ts';
import { RequestFacts, type ConnectionFacts } from '../../data-plane/proxy/request-facts.ts';
import type { CompiledProxy } from '../../data-plane/route/decision.ts';
import type { ClientIpList } from '../../data-plane/client-ip/header.ts';
import type { Clock } from '../../shared/clock.ts';
import type { PrefixSet } from '../../shared/net/cidr.ts';
import type { EndpointPlan } from '../../shared/plan/types.ts';
import { seededRandom, type Random } from '../../shared/random.ts';
import type { TrialPool } from './trial-pool.ts';

/** Chance that can be had again: the sentences about a pick and the pick itself see the same numbers. */
export class ReplayedChance implements Random {
  readonly #seed: number;
  #source: Random;

  constructor(seed: number) {
    this.#seed = seed;
    this.#source = seededRandom(seed);
  }

  next(): number {
    return this.#source.next();
  }

  rewind(): void {
    this.#source = seededRandom(this.#seed);
  }
}

export interface Trust {
  readonly trusted: PrefixSet | null;
  readonly clientIpList: ClientIpList;
}

/** A request that nobody sent, with the facts a worker works out of a real one. */
export class ExplainedRequest extends RequestFacts {
  /** The handler that proxies it, once it is routed. */
  proxy: CompiledProxy<TrialPool> | null = null;
  /** The member picked, −1 = none. */
  position = -1;
  endpoint: EndpointPlan | null = null;
  readonly #chance: ReplayedChance;

  constructor(head: Head, connection: ConnectionFacts, server: Trust, wallMs: number, seed: number) {
    const chance = new ReplayedChance(seed);
    super({ clock: { ...NO_CLOCK, wall: () => wallMs }, random: chance }, connection, server, head);
    this.#chance = chance;
  }

  get believed(): boolean {
    return this.believesPeer();
  }

  /** Forgets what a look at the pool left behind, so that the next look begins as the first did. */
  rewind(): void {
    this.#chance.rewind();
    this.proxy?.pool.rewind();
    this.forgetTried();
  }

  proxyValue(name: string): string | undefined {
    const upstream = this.proxy === null || this.position < 0 ? '' : this.proxy.pool.upstream(this.position);
    const { endpoint, affinity } = this;
    const before = { attempts: 1, status: 0, durationMs: 0, retry: { isTransportError: false, responseHead: null } };
    return proxyValue(name, { upstream, endpoint, affinity, ...before });
  }

  protected believesPeer(): boolean {
    return this.trusted || isTrustedPeer(this.peer, this.proxy?.trusted ?? null);
  }
}

/** Nothing of a request that is only thought of may wait, and it came in at no time. */
export const NO_CLOCK: Clock = Object.freeze({
  now: () => 0,
  wall: () => 0,
  after: () => ({ cancel: () => undefined }),
  afterPoll: () => undefined,
});

/** Parses a head with a worker's own parser. A string says why a worker would refuse it. */
export function readHead(
  text: string,
  maxBytes: number,
  maxFields: number = DEFAULT_HEAD_LIMITS.maxFields,
): Head | string {
  const head = new Head();
  const limits = { maxBytes, maxFields, maxRequestLine: maxBytes };
  const status = parseRequestHead(text, head, limits);
  return status === 0 ? head : `${status}: ${describeFault(head.fault)}`;
}
