/**
 * One TCP connection of a layer-4 server: its opening, the tries to reach a server, and the relay until both
 * directions ended. One deadline on the wheel watches whatever it waits for.
 *
 * Phases: opening → dialling → relay → closed, or opening → echo → closed; TLS with the client comes between two openings.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { parseIp } from '../../shared/net/ip.ts';
import type { ProxyTlvPlan } from '../../shared/plan/layer4.ts';
import type { EndpointPlan } from '../../shared/plan/types.ts';
import {
  FACT_BROKEN,
  FACT_BYTES_RECEIVED,
  FACT_BYTES_SENT,
  FACT_CONNECTIONS,
  FACT_DIALS,
  FACT_REQUESTS,
  SERVER_ABORTED,
  SERVER_BAD_REQUESTS,
  SERVER_BYTES_IN,
  SERVER_BYTES_OUT,
  SERVER_IN_FLIGHT,
  SERVER_NO_UPSTREAM,
  SERVER_TIMEOUTS,
} from '../../shared/state-table/layout.ts';
import type { Place } from '../admission.ts';
import type { Pool } from '../pool/pool.ts';
import type { Dial } from '../proxy/pool-tries.ts';
import type { TunnelEnd } from '../proxy/sides.ts';
import { Tunnel } from '../proxy/tunnel.ts';
import type { TlsFacts } from '../route/tls-facts.ts';
import type { Generation } from '../server.ts';
import type { SecureOwner } from '../tls/front.ts';
import type { TlsPolicies } from '../tls/policies.ts';
import { Deadline, type Expirable } from '../wheel.ts';
import { connectionHeader } from './connection-header.ts';
import { Echo } from './echo.ts';
import { firstByteOf, type FirstByte } from './first-byte.ts';
import { FlowRequest } from './flow-request.ts';
import { Opening, type Opened } from './opening.ts';
import type { Layer4Server } from './server.ts';
import { SecureUpstreamLeg, type SecureLegOwner } from './secure-leg.ts';
import { ClientLeg, PlainUpstreamLeg, type TcpLeg, type UpstreamLeg } from './tcp-leg.ts';
import { TcpTries, type TcpDialler } from './tcp-tries.ts';
import type { Layer4World } from './world.ts';

/** Bytes kept of a client whose server is not reached yet; then it is not read. */
const MAX_AHEAD_BYTES = 65_536;
/** Both sides were sent a FIN because the deadline of a drain passed: time they have to close. */
const GOODBYE_MS = 1000;
/** Once a write to a server has failed, all that it ever said is in the kernel: more than time enough to read it. */
const LAST_WORDS_MS = 100;

type Phase = 'opening' | 'handshake' | 'dialling' | 'relay' | 'echo' | 'last-words' | 'goodbye' | 'ending' | 'closed';

export interface SessionOwner {
  /** Both sides are closed. */
  sessionClosed(session: TcpSession): void;
}

export class TcpSession implements SecureLegOwner, SecureOwner, TcpDialler, TunnelEnd, Expirable {
  readonly place: Place | null;
  readonly #owner: SessionOwner;
  readonly #world: Layer4World;
  readonly #server: Layer4Server;
  readonly #generation: Generation;
  readonly #client: ClientLeg;
  readonly #request: FlowRequest;
  readonly #deadline: Deadline = new Deadline(this);
  #opening: Opening | null;
  #phase: Phase = 'opening';
  /** What the opening waits for, '' = nothing yet. */
  #awaits: Opened['kind'] | '' = '';
  #tries: TcpTries | null = null;
  /** Of the PROXY header for its server. */
  #tlvs: readonly ProxyTlvPlan[] | undefined = undefined;
  #upstream: UpstreamLeg | null = null;
  #tunnel: Tunnel | null = null;
  /** null without `first_byte_timeout`. */
  #firstByte: FirstByte | null = null;
  #clientEnded = false;
  /** The opening took too long. */
  #late = false;
  /** The wheel's time when a byte last moved, in either direction. */
  #activeAt: number;

  constructor(
    owner: SessionOwner,
    world: Layer4World,
    server: Layer4Server,
    generation: Generation,
    socket: Socket,
    place: Place | null,
  ) {
    this.#owner = owner;
    this.#world = world;
    this.#server = server;
    this.#generation = generation;
    this.place = place;
    this.#activeAt = world.wheel.now;
    this.#request = new FlowRequest(world, parseIp(socket.remoteAddress ?? ''), socket.remotePort ?? 0, socket);
    this.#opening = new Opening(server.routes, this.#request);
    this.#client = new ClientLeg(socket, this, this);
    world.servers.add(server.row, SERVER_IN_FLIGHT, 1);
    world.exchangeStarted(generation);
    world.tunnelStarted();
  }

  start(): void {
    this.#open();
  }

  /** Slot of the server it is connected to, or being connected to; −1 = none. */
  get slot(): number {
    return this.#upstream?.slot ?? -1;
  }

  /** Hash of the pool its server was picked from, '' = none yet. */
  get pool(): string {
    return this.#tries?.pool.section.hash ?? '';
  }

  /** Nobody waits for a server any more. */
  get over(): boolean {
    return this.#client.closed || this.#phase === 'ending';
  }

  // --- opening ------------------------------------------------------------------------------------

  #open(): void {
    const opened = this.#opening!.advance();
    switch (opened.kind) {
      case 'header':
        return this.#await(opened.kind, opened.timeoutMs);
      case 'bytes':
        return this.#await(opened.kind, this.#server.options.matchingTimeoutMs);
      case 'bad':
        this.#world.servers.count(this.#server.row, SERVER_BAD_REQUESTS, 1);
        return this.#client.reset();
      case 'none':
        return this.#late ? this.#onOpeningLate() : this.#client.close();
      case 'close':
        return this.#client.close();
      case 'echo':
        return this.#echo();
      case 'tls':
        return this.#secure(opened.policies);
      case 'proxy':
        return this.#proxy(opened.pool.current, opened.plan.proxyTlvs);
    }
  }

  /** The time counts from the first wait of a kind, not from the last byte: who dribbles gets no extension. */
  #await(kind: 'header' | 'bytes', timeoutMs: number): void {
    if (this.#awaits === kind) return;
    this.#awaits = kind;
    this.#world.wheel.arm(this.#deadline, timeoutMs);
  }

  /** Whose client has half-closed already can shake no hands. */
  #secure(policies: TlsPolicies): void {
    if (this.#clientEnded) return this.#client.reset();
    this.#phase = 'handshake';
    this.#world.wheel.disarm(this.#deadline);
    const raw = this.#client.release(this.#opening!.take());
    this.#world.tls.accept(policies, this.#server.row, raw, '', null, this);
    raw.resume();
  }

  onSecure(socket: TLSSocket, _raw: Socket, facts: TlsFacts): void {
    this.#phase = 'opening';
    this.#awaits = '';
    this.#late = false;
    this.#client.carry(socket);
    this.#opening!.secured(facts);
    this.#open();
  }

  onHandshakeFailed(): void {
    this.#client.closed = true;
    this.#finish();
  }

  #echo(): void {
    const { bytes } = this.#opening!;
    this.#opening = null;
    this.#phase = 'echo';
    this.#armIdle();
    const echo = new Echo(this.#client);
    this.#client.sink = echo;
    if (bytes.length > 0 && !this.#client.writeRaw(bytes, 0, bytes.length, true)) this.#client.pause();
    if (this.#clientEnded) echo.onTunnelFin();
  }

  #proxy(pool: Pool, tlvs: readonly ProxyTlvPlan[] | undefined): void {
    this.#tlvs = tlvs;
    this.#phase = 'dialling';
    this.#world.wheel.disarm(this.#deadline);
    this.#tries = new TcpTries(this.#world, pool, this.#request, this);
    this.#tries.next();
  }

  // --- what the client sends before it has a server -------------------------------------------------

  onTunnelData(buffer: Buffer): boolean {
    const opening = this.#opening;
    if (opening === null) return true;
    opening.add(buffer);
    if (this.#phase !== 'opening') return opening.bytes.length < MAX_AHEAD_BYTES;
    this.#open();
    return true;
  }

  onTunnelFin(): void {
    this.#clientEnded = true;
    if (this.#phase === 'opening') this.#openWithoutMore();
  }

  onTunnelReset(): void {}

  onTunnelDrain(): void {}

  #openWithoutMore(): void {
    this.#opening!.end();
    this.#open();
  }

  // --- dialling -----------------------------------------------------------------------------------

  dial(endpoint: EndpointPlan, timeoutMs: number): Dial {
    const { facts, wheel, readBuffer } = this.#world;
    facts.count(endpoint.slot, FACT_DIALS, 1);
    facts.add(endpoint.slot, FACT_CONNECTIONS, 1);
    const { pool, position } = this.#tries!;
    const { localAddress } = pool.section.transport;
    const way = pool.legs?.to(position, endpoint.port) ?? null;
    wheel.arm(this.#deadline, timeoutMs);
    const leg =
      way === null
        ? new PlainUpstreamLeg(endpoint, localAddress, readBuffer, this, this)
        : new SecureUpstreamLeg(this.#world, endpoint, localAddress, way, this.#header(), this, this);
    this.#upstream = leg;
    return leg;
  }

  onHandshake(timeoutMs: number): void {
    if (timeoutMs > 0) this.#world.wheel.arm(this.#deadline, timeoutMs);
  }

  onDialled(leg: UpstreamLeg): void {
    const tries = this.#tries!;
    tries.connected();
    this.#firstByte = firstByteOf(this.#world.wheel, tries.pool.section.passive?.firstByteTimeoutMs, tries.watch);
    if (this.#firstByte === null) tries.watch?.connected();
    this.#world.facts.count(leg.slot, FACT_REQUESTS, 1);
    // In front of TLS it was sent already.
    const header = leg instanceof SecureUpstreamLeg ? null : this.#header();
    this.#relay(leg, this.#client, this.#opening!, header);
  }

  onDialFailed(leg: UpstreamLeg, code: string): void {
    if (leg !== this.#upstream || this.over) return;
    this.#upstream = null;
    this.#world.wheel.disarm(this.#deadline);
    this.#tries!.dialFailed(code);
  }

  onTriesEnded(status: number): void {
    const nobody = status === 503 && this.#tries!.attempts === 0;
    if (nobody) this.#world.servers.count(this.#server.row, SERVER_NO_UPSTREAM, 1);
    this.#client.reset();
  }

  // --- relay --------------------------------------------------------------------------------------

  #relay(upstream: UpstreamLeg, client: ClientLeg, opening: Opening, header: Buffer | null): void {
    this.#opening = null;
    this.#phase = 'relay';
    this.#activeAt = this.#world.wheel.now;
    this.#armIdle();
    const tunnel = new Tunnel(client, upstream, () => {});
    this.#tunnel = tunnel;
    client.sink = tunnel.fromClient;
    upstream.sink = tunnel.fromUpstream;
    if (this.#sendFirst(upstream, opening, header)) client.resume();
    else client.pause();
    if (this.#clientEnded) tunnel.fromClient.onTunnelFin();
  }

  /** The PROXY header, null = none is sent. */
  #header(): Buffer | null {
    const { proxyProtocol } = this.#tries!.pool.section.transport;
    return proxyProtocol === undefined
      ? null
      : connectionHeader(proxyProtocol, this.#tlvs, this.#request, this.#opening!);
  }

  /** PROXY header and what the client sent so far, in one segment if they fit. False = the server is full. */
  #sendFirst(upstream: UpstreamLeg, { bytes: early }: Opening, header: Buffer | null): boolean {
    const first = header === null ? early : Buffer.concat([header, early]);
    if (early.length > 0) {
      this.#world.facts.count(upstream.slot, FACT_BYTES_SENT, early.length);
      this.#firstByte?.sent();
    }
    return first.length === 0 || upstream.writeRaw(first, 0, first.length, true);
  }

  onLegRead(leg: TcpLeg, bytes: number): void {
    const { facts, servers, wheel } = this.#world;
    this.#activeAt = wheel.now;
    const { row } = this.#server;
    if (leg === this.#client) {
      servers.count(row, SERVER_BYTES_IN, bytes);
      this.#firstByte?.sent();
      if (this.#phase === 'relay') facts.count(this.#upstream!.slot, FACT_BYTES_SENT, bytes);
      else if (this.#phase === 'echo') servers.count(row, SERVER_BYTES_OUT, bytes);
    } else {
      this.#firstByte?.heard();
      servers.count(row, SERVER_BYTES_OUT, bytes);
      facts.count(this.#upstream!.slot, FACT_BYTES_RECEIVED, bytes);
    }
  }

  onLegDrained(): void {
    this.#activeAt = this.#world.wheel.now;
  }

  onWriteFailed(): void {
    if (this.#phase !== 'relay') return;
    this.#phase = 'last-words';
    this.#world.wheel.arm(this.#deadline, LAST_WORDS_MS);
  }

  // --- deadlines ----------------------------------------------------------------------------------

  onDeadline(): void {
    switch (this.#phase) {
      case 'opening':
        return this.#onOpeningLate();
      case 'dialling':
        return this.#onDialLate();
      case 'relay':
      case 'echo':
        return this.#onMaybeIdle();
      case 'last-words':
        return this.#onLastWords();
      case 'goodbye':
        return this.abort();
      case 'handshake':
      case 'ending':
      case 'closed':
    }
  }

  /** A route that needs no bytes may still take it. */
  #onOpeningLate(): void {
    if (this.#awaits === 'bytes' && !this.#late) {
      this.#late = true;
      this.#openWithoutMore();
      return;
    }
    this.#world.servers.count(this.#server.row, SERVER_TIMEOUTS, 1);
    this.#client.reset();
  }

  #onDialLate(): void {
    const leg = this.#upstream;
    if (leg === null) return;
    leg.close();
    this.onDialFailed(leg, 'ETIMEDOUT');
  }

  #onMaybeIdle(): void {
    const { servers, wheel } = this.#world;
    const leftMs = this.#activeAt + this.#server.options.idleTimeoutMs - wheel.now;
    if (leftMs > 0) {
      wheel.arm(this.#deadline, leftMs);
      return;
    }
    servers.count(this.#server.row, SERVER_TIMEOUTS, 1);
    this.abort();
  }

  /** A client that reads slowly gets them all, as long as it reads. */
  #onLastWords(): void {
    const upstream = this.#upstream!;
    const isIdle = this.#activeAt + this.#server.options.idleTimeoutMs <= this.#world.wheel.now;
    if (upstream.paused && !isIdle) this.#world.wheel.arm(this.#deadline, LAST_WORDS_MS);
    else upstream.close();
  }

  #armIdle(): void {
    this.#world.wheel.arm(this.#deadline, this.#server.options.idleTimeoutMs);
  }

  // --- end ----------------------------------------------------------------------------------------

  /**
   * It has to leave its server: `finish` sends both sides a FIN and resets what is still open a second later, `reset`
   * does so at once. One that is only being connected goes to another server.
   */
  leave(how: 'finish' | 'reset'): void {
    if (this.#phase === 'dialling' && this.#upstream !== null) {
      const leg = this.#upstream;
      leg.close();
      this.onDialFailed(leg, 'ECANCELED');
    } else if (how === 'finish' && this.#phase === 'relay') {
      this.#phase = 'goodbye';
      this.#world.wheel.arm(this.#deadline, GOODBYE_MS);
      this.#tunnel!.close(this.#world.random);
    } else {
      this.abort();
    }
  }

  /** Both sides see a reset. */
  abort(): void {
    this.#phase = 'ending';
    if (this.#tunnel === null) this.#tries?.leave();
    this.#upstream?.reset();
    this.#client.reset();
  }

  onLegClosed(leg: TcpLeg, broken: boolean): void {
    if (leg === this.#client) this.#onClientClosed(broken);
    else this.#onUpstreamClosed(leg as UpstreamLeg, broken);
    if (this.#client.closed && (this.#upstream === null || this.#upstream.closed)) this.#finish();
  }

  #onClientClosed(broken: boolean): void {
    if (broken) this.#world.servers.count(this.#server.row, SERVER_ABORTED, 1);
    if (this.#tunnel !== null) {
      if (broken || !this.#isRelayed(this.#tunnel)) this.#upstream!.reset();
      return;
    }
    // A dial that nobody waits for any more is given up.
    this.#tries?.leave();
  }

  #onUpstreamClosed(leg: UpstreamLeg, broken: boolean): void {
    const { facts } = this.#world;
    facts.add(leg.slot, FACT_CONNECTIONS, -1);
    if (leg !== this.#upstream || !leg.connected) return;
    if (broken) facts.count(leg.slot, FACT_BROKEN, 1);
    this.#tries!.leave();
    if (broken || !this.#isRelayed(this.#tunnel!)) this.#client.reset();
  }

  /** Both directions came to their end. */
  #isRelayed(tunnel: Tunnel): boolean {
    return tunnel.fromClient.ended && tunnel.fromUpstream.ended;
  }

  #finish(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    const { servers, wheel } = this.#world;
    this.#opening = null;
    wheel.remove(this.#deadline);
    this.#firstByte?.end();
    servers.add(this.#server.row, SERVER_IN_FLIGHT, -1);
    this.#world.tunnelEnded();
    this.#world.exchangeEnded(this.#generation);
    this.#owner.sessionClosed(this);
  }
}
