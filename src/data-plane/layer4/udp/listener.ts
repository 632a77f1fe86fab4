/**
 * One UDP address in this worker: its socket, and the sessions of its clients. Datagrams are passed on one for
 * one: never joined, split or cut. Answers leave from the listener's own address, and go only to the client whose
 * session they belong to.
 */
import type { RemoteInfo, Socket } from 'node:dgram';
import { parseIp } from '../../../shared/net/ip.ts';
import type { LogFields } from '../../../shared/log.ts';
import {
  LIMIT_MAX_SESSIONS,
  SERVER_BAD_REQUESTS,
  SERVER_BYTES_IN,
  SERVER_BYTES_OUT,
  SERVER_CONNECTIONS_ACCEPTED,
  SERVER_DATAGRAMS_DROPPED,
  SERVER_DATAGRAMS_IN,
  SERVER_DATAGRAMS_OUT,
  SERVER_IN_FLIGHT,
  SERVER_LIMITS,
  SERVER_NO_UPSTREAM,
  SERVER_TIMEOUTS,
} from '../../../shared/state-table/layout.ts';
import type { SectionHash } from '../../../shared/plan/types.ts';
import type { Admission, Place } from '../../admission.ts';
import { inBatches } from '../../in-batches.ts';
import type { Pool } from '../../pool/pool.ts';
import type { Generation } from '../../server.ts';
import { Deadline, type Expirable } from '../../wheel.ts';
import { FlowRequest, type LocalEnd } from '../flow-request.ts';
import { FlowView } from '../flow-view.ts';
import type { NewRate } from '../new-rate.ts';
import { RouteWalk, sendsHeader, type FlowStep } from '../routes.ts';
import { connectionHashOf } from '../quic-packet.ts';
import type { Layer4Server } from '../server.ts';
import type { SessionBudget } from './descriptors.ts';
import { homeKey, Homes } from './homes.ts';
import { datagramHeader, takeHeader, withoutHeader } from './proxy-header.ts';
import { QuicConnections } from './quic-connections.ts';
import { SessionTable } from './session-table.ts';
import { resizeBuffer } from './sockets.ts';
import { UdpSession, type SessionHost, type SessionWorld } from './session.ts';
import { MAX_UNSENT } from './upstream.ts';

const NO_BYTES = Buffer.alloc(0);
/** A server may give out two ids in a handshake: one with a Retry. */
const IDS_PER_SESSION = 2;

const NO_LIMITS = Object.freeze({ total: 0, perSource: 0 });

export interface UdpWorld extends SessionWorld {
  readonly admission: Pick<Admission, 'take' | 'leave'>;
  readonly newRate: Pick<NewRate, 'admit'>;
  readonly budget: SessionBudget;
  /** Of the process. */
  workers(): number;
  sessionStarted(generation: Generation): void;
  sessionEnded(generation: Generation): void;
  warn(message: string, fields: LogFields): void;
}

/** The config in force, as far as a listener is concerned. */
export interface UdpPlan {
  readonly server: Layer4Server;
  readonly generation: Generation;
}

type ProxyStep = Extract<FlowStep<Pool>, { readonly kind: 'proxy' }>;

export class UdpListener implements Expirable, SessionHost {
  readonly key: string;
  /** Takes no new sessions any more. */
  draining = false;
  readonly #world: UdpWorld;
  readonly #socket: Socket;
  readonly #local: LocalEnd;
  readonly #table = new SessionTable<UdpSession>();
  /** When the session that was silent longest has been so for long enough: one deadline for all of them. */
  readonly #deadline = new Deadline(this);
  #plan: UdpPlan;
  /** null = no session went by QUIC connection ids yet. */
  #quic: QuicConnections | null = null;
  #maxSessions = 0;
  /** UDP sockets of the process, which share its descriptors. */
  #sockets = 1;
  /** SO_RCVBUF asked for last. */
  #askedBytes = 0;
  #unsent = 0;
  #closed = false;
  readonly #onSent = (error: Error | null): void => {
    this.#unsent -= 1;
    if (error !== null && error !== undefined) this.onLost();
  };

  /** The socket is bound, and is the listener's from here on. */
  constructor(world: UdpWorld, key: string, socket: Socket, plan: UdpPlan) {
    this.#world = world;
    this.key = key;
    this.#socket = socket;
    const { address, port } = socket.address();
    this.#local = { localAddress: address, localPort: port };
    this.#plan = plan;
    this.#setUp();
    // A receive error tells of a datagram that never came; the socket stays as it is.
    socket.on('error', () => this.onLost());
    socket.on('message', (data, from) => this.#onDatagram(data, from));
  }

  get sessions(): number {
    return this.#table.size;
  }

  // --- plans --------------------------------------------------------------------------------------

  /** Another config is in force. Sessions go on with the server they have, if the config still has it. */
  follow(plan: UdpPlan): void {
    this.#plan = plan;
    this.#setUp();
    const homes = new Homes();
    for (const session of [...this.#table.values()]) this.#renew(session, homes);
    while (this.#table.size > this.#maxSessions) this.#end(this.#table.leastWorthy!);
    this.#arm();
  }

  #setUp(): void {
    const { options, name } = this.#plan.server;
    const { maxSessions, receiveBufferBytes } = options.udp!;
    this.#sockets = socketsOf(this.#plan.generation, this.#world.workers());
    this.#world.budget.refresh();
    const possible = this.#world.budget.most(this.#sockets);
    if (maxSessions > possible && this.#maxSessions !== possible) {
      this.#world.warn(
        `${name}: max_sessions ${maxSessions} is more than file descriptors allow, ${possible} is used (raise ulimit -n, or LimitNOFILE= of the unit)`,
        { listener: this.key },
      );
    }
    this.#maxSessions = Math.min(maxSessions, possible);
    if (receiveBufferBytes !== this.#askedBytes) this.#askForBuffer(receiveBufferBytes);
    if (this.#quic !== null) this.#quic.capacity = IDS_PER_SESSION * this.#maxSessions;
  }

  #askForBuffer(bytes: number): void {
    this.#askedBytes = bytes;
    const got = resizeBuffer(this.#socket, bytes);
    if (got >= bytes) return;
    this.#world.warn(
      `${this.#plan.server.name}: the kernel gives a receive buffer of ${got} bytes instead of ${bytes}: bursts may lose datagrams (raise net.core.rmem_max, or set receive_buffer)`,
      { listener: this.key },
    );
  }

  /** Under the new routes the client may be nobody's any more. */
  #renew(session: UdpSession, homes: Homes): void {
    const pool = this.#poolOf(session);
    if (pool === null) {
      this.#end(session);
      return;
    }
    const position = homes.of(pool).get(homeKey(session.slot, session.identity));
    if (position === undefined) {
      session.orphaned = true;
      return;
    }
    session.renew(pool, position);
    this.#world.sessionStarted(this.#plan.generation);
    this.#world.sessionEnded(session.generation);
    session.generation = this.#plan.generation;
  }

  /** Where its routes lead it now. They look at addresses only: the first datagram is not needed again. */
  #poolOf(session: UdpSession): Pool | null {
    const walk = new RouteWalk(this.#plan.server.routes);
    const view = new FlowView(parseIp(session.address), NO_BYTES, true);
    let step = walk.next(view);
    while (typeof step === 'object' && step.kind === 'proxy_protocol') {
      view.client = session.client;
      step = walk.next(view);
    }
    return typeof step === 'object' && step.kind === 'proxy' ? step.pool.current : null;
  }

  // --- from clients -------------------------------------------------------------------------------

  #onDatagram(data: Buffer, from: RemoteInfo): void {
    const { server } = this.#plan;
    const { servers } = this.#world;
    servers.count(server.row, SERVER_DATAGRAMS_IN, 1);
    servers.count(server.row, SERVER_BYTES_IN, data.length);
    const now = this.#world.clock.now();
    const key = `${from.address} ${from.port}`;
    let session = this.#table.get(key);
    if (session?.isLost(now) === true) {
      this.#end(session);
      session = undefined;
    }
    if (session === undefined) {
      this.#begin(key, data, from, now);
      return;
    }
    this.#table.touch(session, now);
    if (!session.proven && session.responses > 0) this.#table.prove(session);
    this.#forward(session, session.headed ? withoutHeader(data) : data, now);
  }

  #forward(session: UdpSession, data: Buffer, now: number): void {
    if (session.forward(data, now)) return;
    this.#world.servers.count(this.#plan.server.row, SERVER_NO_UPSTREAM, 1);
    this.onLost();
  }

  /** The first datagram of a client: which route, and is there room? */
  #begin(key: string, data: Buffer, from: RemoteInfo, now: number): void {
    const client = parseIp(from.address);
    const request = new FlowRequest(this.#world, client, from.port, this.#local);
    const view = new FlowView(client, data, true);
    const walk = new RouteWalk(this.#plan.server.routes);
    let headed = false;
    let step = this.draining ? 'none' : walk.next(view);
    while (typeof step === 'object' && step.kind === 'proxy_protocol') {
      if (sendsHeader(step, client)) {
        if (!takeHeader(view, request)) {
          this.#world.servers.count(this.#plan.server.row, SERVER_BAD_REQUESTS, 1);
          break;
        }
        headed = true;
      }
      step = walk.next(view);
    }
    if (typeof step === 'object' && step.kind === 'proxy') {
      this.#admit(step, request, { key, data: view.bytes, from, now, headed });
    } else if (typeof step === 'object' && step.kind === 'echo') {
      this.#send(view.bytes, from.port, from.address);
    } else {
      this.onLost();
    }
  }

  #admit(step: ProxyStep, request: FlowRequest, first: FirstDatagram): void {
    const place = this.#place(request.client?.text ?? first.from.address);
    if (place === null) {
      this.onLost();
      return;
    }
    if (this.#isFull()) this.#makeRoom();
    const session = this.#open(step, request, place, first) ?? this.#openStarved(step, request, place, first);
    if (session === null) {
      this.#world.admission.leave(place);
      this.#world.servers.count(this.#plan.server.row, SERVER_NO_UPSTREAM, 1);
      this.onLost();
      return;
    }
    session.headed = first.headed;
    this.#table.add(session, first.now);
    this.#world.budget.count(1);
    this.#world.sessionStarted(session.generation);
    this.#world.servers.add(place.row, SERVER_IN_FLIGHT, 1);
    this.#world.servers.count(place.row, SERVER_CONNECTIONS_ACCEPTED, 1);
    this.#forward(session, first.data, first.now);
    this.#arm();
  }

  /** null = a limit is reached, and counted. */
  #place(address: string): Place | null {
    const { row, options } = this.#plan.server;
    if (!this.#world.newRate.admit(row, options.newPerSecond)) return null;
    return this.#world.admission.take(row, options.limits ?? NO_LIMITS, address);
  }

  #open(step: ProxyStep, request: FlowRequest, place: Place, { key, data, from }: FirstDatagram): UdpSession | null {
    const { proxyProtocol } = step.pool.section.transport;
    const header = proxyProtocol === 'v2' ? datagramHeader(request) : null;
    const client = { key, address: from.address, port: from.port, place };
    const target = { pool: step.pool.current, header, headerOn: step.plan.proxyHeaderOn };
    const session = new UdpSession(this.#world, this, client, request, target, this.#plan.generation);
    if (step.pool.section.policy.policy === 'quic_cid') {
      this.#quic ??= new QuicConnections(IDS_PER_SESSION * this.#maxSessions);
      session.learnsQuicIds = true;
      request.connectionHash = connectionHashOf(data);
      request.knownPosition = this.#quic.positionOf(data, target.pool);
    }
    const hasBegun = session.begin();
    // When its server goes, the connection is known to be nowhere.
    request.knownPosition = -1;
    if (hasBegun) return session;
    this.#isStarved = session.starved;
    return null;
  }

  /** The last session could not be opened for want of descriptors. */
  #isStarved = false;

  /** Descriptors ran out: once more in the place of another session. */
  #openStarved(step: ProxyStep, request: FlowRequest, place: Place, first: FirstDatagram): UdpSession | null {
    if (!this.#isStarved || this.#table.size === 0) return null;
    this.#makeRoom();
    request.forgetTried();
    return this.#open(step, request, place, first);
  }

  #isFull(): boolean {
    const { size } = this.#table;
    return size >= this.#maxSessions || !this.#world.budget.hasRoom(size, this.#sockets);
  }

  #makeRoom(): void {
    this.#world.servers.count(this.#plan.server.row, SERVER_LIMITS + LIMIT_MAX_SESSIONS, 1);
    this.#end(this.#table.leastWorthy!);
  }

  // --- to clients ---------------------------------------------------------------------------------

  onAnswer(session: UdpSession, data: Buffer): void {
    this.#table.touch(session, this.#world.clock.now());
    if (session.learnsQuicIds) this.#quic?.learn(data, session);
    this.#send(data, session.port, session.address);
    const { responses } = this.#plan.server.options.udp!;
    if (responses > 0 && session.responses >= responses * session.requests) this.#end(session);
  }

  /** A datagram went nowhere. */
  onLost(): void {
    this.#world.servers.count(this.#plan.server.row, SERVER_DATAGRAMS_DROPPED, 1);
  }

  #send(data: Buffer, port: number, address: string): void {
    if (this.#unsent >= MAX_UNSENT) {
      this.onLost();
      return;
    }
    const { servers } = this.#world;
    const { row } = this.#plan.server;
    servers.count(row, SERVER_DATAGRAMS_OUT, 1);
    servers.count(row, SERVER_BYTES_OUT, data.length);
    this.#unsent += 1;
    this.#socket.send(data, port, address, this.#onSent);
  }

  // --- ends ---------------------------------------------------------------------------------------

  onDeadline(): void {
    const silentSince = this.#world.clock.now() - this.#plan.server.options.idleTimeoutMs;
    for (
      let oldest = this.#table.oldest;
      oldest !== null && oldest.lastAt <= silentSince;
      oldest = this.#table.oldest
    ) {
      this.#end(oldest);
      this.#world.servers.count(this.#plan.server.row, SERVER_TIMEOUTS, 1);
    }
    this.#arm();
  }

  /** Ends the sessions on these slots; `pool`: only those whose server was picked from it. */
  cutSlots(slots: ReadonlySet<number>, pool: SectionHash | null = null): void {
    const mustEnd = (session: UdpSession): boolean =>
      slots.has(session.slot) && (pool === null || session.poolHash === pool);
    inBatches(this.#world.clock, [...this.#table.values()].filter(mustEnd), (session) => {
      // While others were cut it may have ended, or gone elsewhere.
      if (this.#table.get(session.key) === session && mustEnd(session)) this.#end(session);
    });
  }

  /** Ends the sessions and gives the address back. */
  close(): void {
    if (this.#closed) return;
    for (const session of [...this.#table.values()]) this.#end(session);
    this.#closed = true;
    this.#world.wheel.remove(this.#deadline);
    this.#socket.close();
  }

  #end(session: UdpSession): void {
    this.#table.delete(session);
    session.end();
    this.#world.budget.count(-1);
    this.#world.admission.leave(session.place);
    this.#world.servers.add(session.place.row, SERVER_IN_FLIGHT, -1);
    this.#world.sessionEnded(session.generation);
  }

  /** Not moved by traffic: it looks again when it is due. */
  #arm(): void {
    const { oldest } = this.#table;
    if (oldest === null) return;
    const at = oldest.lastAt + this.#plan.server.options.idleTimeoutMs;
    if (this.#deadline.at > at) this.#world.wheel.arm(this.#deadline, Math.max(0, at - this.#world.clock.now()));
  }
}

/** UDP sockets of the config, at least one: with `workers all` each worker has one. */
function socketsOf({ layer4Of }: Generation, workers: number): number {
  let sockets = 0;
  for (const { options } of layer4Of.values()) {
    if (options.udp !== null) sockets += options.udp.workers === 'all' ? workers : 1;
  }
  return Math.max(1, sockets);
}

interface FirstDatagram {
  readonly key: string;
  readonly data: Buffer;
  readonly from: RemoteInfo;
  readonly now: number;
  /** It came behind a PROXY header, which `data` is without. */
  readonly headed: boolean;
}
