/**
 * One client's flow through a listener: who it is, and the upstream its datagrams go to. An upstream stays the
 * session's own until the session ends, or until it goes: then the next datagram is sent to another one.
 */
import {
  FACT_DIAL_FAILURES,
  FACT_IN_FLIGHT,
  FACT_REQUESTS,
  FACT_RETRIES,
  MEMBER_DOWN,
  MEMBER_MAINT,
} from '../../../shared/state-table/layout.ts';
import type { IpAddress } from '../../../shared/net/ip.ts';
import type { Place } from '../../admission.ts';
import type { Pool } from '../../pool/pool.ts';
import { TryWatch } from '../../proxy/try-watch.ts';
import type { Generation } from '../../server.ts';
import type { World } from '../../world.ts';
import { firstByteOf, type FirstByte } from '../first-byte.ts';
import type { FlowRequest } from '../flow-request.ts';
import type { TableEntry } from './session-table.ts';
import { codeOf } from './sockets.ts';
import { UdpUpstream, type UpstreamUser } from './upstream.ts';

/**
 * A server that is down keeps its sessions as long as it answers them; one that has been silent for this long
 * loses them with the client's next datagram. A busy one-way sender would otherwise stay on a dead server for ever.
 */
const SILENT_MS = 1000;
/** A first datagram up to this size is kept until the server is known to listen: what an Ethernet frame holds. */
const MAX_KEPT_BYTES = 1500;

export type SessionWorld = Pick<World, 'clock' | 'random' | 'wheel' | 'facts' | 'servers' | 'passiveResult'> & {
  /** A data socket was told that nobody listens at this address. */
  refused(slot: number): void;
};

export interface SessionHost {
  onAnswer(session: UdpSession, data: Buffer): void;
  onLost(): void;
}

/** What the route decided for a session. */
export interface SessionTarget {
  readonly pool: Pool;
  /** PROXY header for the upstream; null = none. */
  readonly header: Buffer | null;
  readonly headerOn: 'each' | 'first';
}

interface Chosen {
  readonly position: number;
  readonly upstream: UdpUpstream;
}

export class UdpSession implements TableEntry<UdpSession>, UpstreamUser {
  readonly key: string;
  /** The client, as the socket names it. */
  readonly address: string;
  readonly port: number;
  readonly place: Place;
  lastAt = 0;
  proven = false;
  older: UdpSession | null = null;
  newer: UdpSession | null = null;
  /** Whose plan it runs under. */
  generation: Generation;
  /** The config in force has no such member any more. */
  orphaned = false;
  /** Datagrams of the client, and answers to them. */
  requests = 0;
  responses = 0;
  /** Its datagrams come behind PROXY headers. */
  headed = false;
  /** Its server's answers name the ids that QUIC connections are found by. */
  learnsQuicIds = false;
  /** The last try to find an upstream failed for want of descriptors. */
  starved = false;
  readonly #world: SessionWorld;
  readonly #host: SessionHost;
  readonly #request: FlowRequest;
  readonly #header: Buffer | null;
  readonly #headerOn: 'each' | 'first';
  #pool: Pool;
  #position = -1;
  #upstream: UdpUpstream | null = null;
  #watch: TryWatch | null;
  /** The passive checks know what became of the upstream. */
  #judged = false;
  /** Epoch of the pool's words under which the member was found to be well. */
  #epoch = -1;
  #refused = false;
  #headerSent = false;
  #heardAt: number;
  /** The first datagram, as long as it may have to go to another server; null = it may not. */
  #first: Buffer | null = null;
  /** null without `first_byte_timeout`. */
  #firstByte: FirstByte | null = null;

  constructor(
    world: SessionWorld,
    host: SessionHost,
    client: { readonly key: string; readonly address: string; readonly port: number; readonly place: Place },
    request: FlowRequest,
    target: SessionTarget,
    generation: Generation,
  ) {
    this.#world = world;
    this.#host = host;
    this.key = client.key;
    this.address = client.address;
    this.port = client.port;
    this.place = client.place;
    this.#request = request;
    this.#pool = target.pool;
    this.#header = target.header;
    this.#headerOn = target.headerOn;
    this.#watch = watchOf(world, target.pool);
    this.generation = generation;
    this.#heardAt = world.clock.now();
  }

  /** Who it is for: the peer, or whom its PROXY header named. */
  get client(): IpAddress | null {
    return this.#request.client;
  }

  /** Configured text that affinity is bound to, and the slot; −1 = it has no upstream. */
  get identity(): string {
    return this.#position < 0 ? '' : this.#pool.identity(this.#position);
  }

  get poolHash(): string {
    return this.#pool.section.hash;
  }

  get slot(): number {
    return this.#upstream?.endpoint.slot ?? -1;
  }

  /** Finds an upstream. False: nobody is eligible, or no socket is to be had. */
  begin(): boolean {
    const chosen = this.#choose();
    if (chosen === null) return false;
    this.#settle(chosen);
    this.#world.facts.count(chosen.upstream.endpoint.slot, FACT_REQUESTS, 1);
    return true;
  }

  /** Sends a datagram of the client on, to another upstream if the one it had is gone. False: there is none. */
  forward(data: Buffer, now: number): boolean {
    this.requests += 1;
    if (this.#mustMove(now)) this.#move(now);
    if (this.#upstream === null) return false;
    // Many servers never answer: a while without a refusal is as good.
    if (!this.#judged && this.#firstByte === null && now - this.#heardAt > SILENT_MS) this.#standsUp();
    this.#first = this.requests === 1 && data.length <= MAX_KEPT_BYTES ? data : null;
    this.#send(this.#upstream, data);
    return true;
  }

  #send(upstream: UdpUpstream, data: Buffer): void {
    const header = this.#headerOn === 'first' && this.#headerSent ? null : this.#header;
    this.#headerSent = true;
    this.#firstByte?.sent();
    upstream.send(data, header);
  }

  /** The same upstream, under another plan that has it at `position`. */
  renew(pool: Pool, position: number): void {
    if (pool !== this.#pool) this.#watch = watchOf(this.#world, pool);
    this.#pool = pool;
    this.#position = position;
    this.#epoch = -1;
    this.orphaned = false;
  }

  /** An orphan whose server does not answer it. */
  isLost(now: number): boolean {
    return this.orphaned && (this.#refused || now - this.#heardAt > SILENT_MS);
  }

  end(): void {
    const upstream = this.#upstream;
    this.#upstream = null;
    this.#first = null;
    this.#firstByte?.end();
    if (upstream !== null) this.#leave(upstream, this.#pool, this.#position);
    this.#position = -1;
  }

  // --- the upstream's side ------------------------------------------------------------------------

  onAnswer(data: Buffer): void {
    this.responses += 1;
    this.#heardAt = this.#world.clock.now();
    this.#refused = false;
    this.#first = null;
    if (this.#firstByte !== null) this.#hears(this.#firstByte);
    else if (!this.#judged) this.#standsUp();
    this.#host.onAnswer(this, data);
  }

  onRefused(): void {
    if (this.#upstream === null) return;
    this.#refused = true;
    this.#world.refused(this.#upstream.endpoint.slot);
    this.#firstByte?.end();
    this.#judgeRefusal();
    const first = this.#first;
    this.#first = null;
    if (first !== null) this.#sendElsewhere(first);
  }

  #judgeRefusal(): void {
    if (this.#watch === null) return;
    // Its first result is known already: this is another one.
    if (this.#judged && !this.#watch.begin(this.#position)) return;
    this.#judged = true;
    this.#watch.failed();
  }

  /** The refusal says that nobody got it. Once a session: two servers that refuse would send it to and fro. */
  #sendElsewhere(first: Buffer): void {
    const refusing = this.#upstream;
    this.#move(this.#world.clock.now());
    if (this.#upstream === refusing) this.#refused = true;
    else if (this.#upstream !== null) this.#send(this.#upstream, first);
  }

  #hears(firstByte: FirstByte): void {
    this.#judged = true;
    firstByte.heard();
  }

  onLost(): void {
    this.#host.onLost();
  }

  #standsUp(): void {
    this.#judged = true;
    this.#watch?.connected();
  }

  // --- which upstream -----------------------------------------------------------------------------

  /** HOT: as long as nothing changes, a comparison. */
  #mustMove(now: number): boolean {
    const epoch = this.#pool.epoch;
    if (!this.#refused && epoch === this.#epoch) return false;
    if (this.#refused || this.#upstream === null) return true;
    const word = this.#pool.word(this.#position);
    if (word === MEMBER_MAINT) return true;
    if (word === MEMBER_DOWN) return now - this.#heardAt > SILENT_MS;
    this.#epoch = epoch;
    return false;
  }

  /** To another upstream. Where there is none it stays, unless the operator has turned everybody away. */
  #move(now: number): void {
    const before = this.#upstream;
    const { current } = this.#pool;
    const position = this.#position;
    const inMaintenance = position >= 0 && this.#pool.word(position) === MEMBER_MAINT;
    this.#refused = false;
    // In a new form of the pool positions mean other members.
    this.#request.tried = before === null || current !== this.#pool ? [] : [position];
    const chosen = this.#choose() ?? this.#chooseAgain();
    // The watch may stand at a member that no socket could be had for.
    this.#judged = true;
    if (chosen === null && !inMaintenance) return;
    if (before !== null) {
      this.#world.facts.count(before.endpoint.slot, FACT_RETRIES, 1);
      this.#leave(before, this.#pool, position);
    }
    this.#upstream = null;
    this.#position = -1;
    if (chosen === null) return;
    this.#settle(chosen);
    this.#heardAt = now;
    this.#world.facts.count(chosen.upstream.endpoint.slot, FACT_REQUESTS, 1);
  }

  /** Nobody else is there: the same member at another address, if it has moved. */
  #chooseAgain(): Chosen | null {
    this.#request.forgetTried();
    return this.#choose();
  }

  /** The policy's choice that a socket can be had for. Never the upstream it has. */
  #choose(): Chosen | null {
    const pool = this.#pool.current;
    if (pool !== this.#pool) this.#watch = watchOf(this.#world, pool);
    this.starved = false;
    for (;;) {
      const position = pool.policy.pick(pool, this.#request);
      if (position < 0) return null;
      if (this.#watch?.begin(position) === false) continue;
      const upstream = this.#dial(pool, position);
      if (upstream !== null) return { position, upstream };
      if (this.starved) return null;
      this.#request.tried = [...this.#request.tried, position];
    }
  }

  #dial(pool: Pool, position: number): UdpUpstream | null {
    const { facts } = this.#world;
    for (let index = pool.nextEndpoint(position, 0); index >= 0; index = pool.nextEndpoint(position, index + 1)) {
      const endpoint = pool.endpoint(position, index);
      if (this.#isCurrent(endpoint)) continue;
      if (pool.places === null) facts.add(endpoint.slot, FACT_IN_FLIGHT, 1);
      else if (!pool.places.take(this.#world, position, endpoint.slot, false)) return null;
      try {
        return new UdpUpstream(endpoint, pool.section.transport.localAddress, facts, this);
      } catch (error) {
        facts.count(endpoint.slot, FACT_DIAL_FAILURES, 1);
        facts.add(endpoint.slot, FACT_IN_FLIGHT, -1);
        pool.places?.left(this.#world, position, endpoint.slot);
        this.starved = isStarvation(codeOf(error));
        if (this.starved) return null;
      }
    }
    return null;
  }

  #isCurrent({ host, port }: { readonly host: string; readonly port: number }): boolean {
    const endpoint = this.#upstream?.endpoint;
    return endpoint !== undefined && endpoint.host === host && endpoint.port === port;
  }

  #settle({ position, upstream }: Chosen): void {
    this.#pool = this.#pool.current;
    this.#position = position;
    this.#upstream = upstream;
    this.#judged = false;
    this.#firstByte?.end();
    const timeoutMs = this.#pool.section.passive?.firstByteTimeoutMs;
    this.#firstByte = firstByteOf(this.#world.wheel, timeoutMs, this.#watch);
    this.#headerSent = false;
    this.#epoch = -1;
  }

  #leave(upstream: UdpUpstream, pool: Pool, position: number): void {
    upstream.close();
    const { slot } = upstream.endpoint;
    this.#world.facts.add(slot, FACT_IN_FLIGHT, -1);
    pool.places?.left(this.#world, position, slot);
  }
}

function watchOf(world: SessionWorld, pool: Pool): TryWatch | null {
  return pool.passive === null ? null : new TryWatch(world, pool, pool.passive);
}

function isStarvation(code: string): boolean {
  return code === 'EMFILE' || code === 'ENFILE' || code === 'ENOBUFS' || code === 'ENOMEM' || code === 'EADDRNOTAVAIL';
}
