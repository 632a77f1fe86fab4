/** The tries of one request, on connections that may have carried others before. */
import { proxyHeader } from '../../shared/net/proxy-header.ts';
import type { EndpointPlan } from '../../shared/plan/types.ts';
import { PlainRequest } from '../pool/gated-request.ts';
import type { Leg } from '../pool/leg.ts';
import type { Pool } from '../pool/pool.ts';
import type { World } from '../world.ts';
import { PoolTries, type Dial, type TryUser as PoolTryUser } from './pool-tries.ts';
import type { RequestFacts } from './request-facts.ts';
import { wantedUpgrade } from './request-lines.ts';
import type { UpstreamUser } from './sides.ts';

export interface TryUser extends UpstreamUser, PoolTryUser {}

export class Tries extends PoolTries {
  readonly #world: World;
  readonly #request: RequestFacts;
  readonly #user: TryUser;

  constructor(world: World, pool: Pool, request: RequestFacts, user: TryUser, startedAt: number) {
    super(world, pool, request, user, startedAt);
    this.#world = world;
    this.#request = request;
    this.#user = user;
  }

  /** What goes in front of the request, latin1; over TLS and HTTP/2 the PROXY header went in front of all that. */
  get preface(): string {
    const { legs } = this.pool;
    return legs === null || legs.to(this.position, this.endpoint!.port) === null ? this.#proxyHeader() : '';
  }

  protected override dial(endpoint: EndpointPlan, timeoutMs: number, fresh: boolean): Dial | null {
    const { section, responseLimits, legs } = this.pool;
    const { transport } = section;
    const leg = legs === null ? null : legs.to(this.position, endpoint.port);
    if (leg !== null) return this.#dialLeg(leg, endpoint, timeoutMs, fresh);
    // A PROXY header is the first thing on a connection, and those of other pools go to the same slots.
    const unused = fresh || transport.proxyProtocol !== undefined;
    const { endpoints } = this.#world;
    const { maxConnections } = transport;
    if (maxConnections === undefined) {
      return endpoints.connect(endpoint, responseLimits, timeoutMs, unused, this.#user, transport);
    }
    return endpoints.gate.connect(
      new PlainRequest(endpoints, endpoint, responseLimits, timeoutMs, unused, this.#user, transport, maxConnections),
    );
  }

  #dialLeg(leg: Leg, endpoint: EndpointPlan, timeoutMs: number, fresh: boolean): Dial | null {
    const { section, responseLimits: limits } = this.pool;
    const preface = this.#proxyHeader();
    const needsHttp1 = wantedUpgrade(this.#request.head) !== '';
    const options = section.transport;
    const user = this.#user;
    return this.#world.endpoints.legs.connect({
      leg,
      endpoint,
      limits,
      options,
      timeoutMs,
      user,
      fresh,
      preface,
      needsHttp1,
    });
  }

  #proxyHeader(): string {
    const { proxyProtocol } = this.pool.section.transport;
    return proxyProtocol === undefined ? '' : proxyHeader(proxyProtocol, this.#request);
  }
}
