/**
 * A worker at work: generations of compiled plans, client connections, upstream connections. Knows
 * nothing of threads; `worker-thread.ts` drives it.
 */
import type { Socket as UdpSocket } from 'node:dgram';
import type { Socket } from 'node:net';
import type { Clock } from '../shared/clock.ts';
import type {
  ConnectionLimits,
  MemberPlan,
  MemberRows,
  PlanManifest,
  PoolRows,
  Section,
  SectionHash,
} from '../shared/plan/types.ts';
import type { DerivedAnswer } from '../shared/messages.ts';
import type { CertificatePlan } from '../shared/plan/tls.ts';
import type { Random } from '../shared/random.ts';
import {
  LANE_CONNECTIONS,
  LANE_EXCHANGES,
  LANE_TUNNELS,
  SERVER_BAD_REQUESTS,
  SERVER_CONNECTIONS_ACCEPTED,
} from '../shared/state-table/layout.ts';
import type { Rows } from '../shared/state-table/table.ts';
import { AccessLog } from './access-log.ts';
import { Admission, type Place } from './admission.ts';
import type { ClientConnection } from './client-connection.ts';
import { Head } from './http1/head.ts';
import { inBatches } from './in-batches.ts';
import { ServerConnection } from './http1/server-connection.ts';
import { ClientSession } from './http2/client-session.ts';
import { PrefaceReader } from './http2/preface.ts';
import { Errands } from './errands/errands.ts';
import { NewRate } from './layer4/new-rate.ts';
import { Layer4Server } from './layer4/server.ts';
import { TcpSessions } from './layer4/tcp-sessions.ts';
import { SessionBudget } from './layer4/udp/descriptors.ts';
import type { UdpPlan, UdpWorld } from './layer4/udp/listener.ts';
import { UdpListeners } from './layer4/udp/listeners.ts';
import { Endpoints } from './pool/endpoints.ts';
import { TlsMemory } from './pool/tls-memory.ts';
import { HeaderReader } from './proxy-header/header-reader.ts';
import { Streams } from './proxy/streams.ts';
import type { ProcessFacts } from './route/placeholder/placeholder.ts';
import type { TlsFacts } from './route/tls-facts.ts';
import { Sections } from './sections.ts';
import { HttpServer, type Generation } from './server.ts';
import { TlsFront } from './tls/front.ts';
import { TimerWheel } from './wheel.ts';
import type { RuntimeDeps, WorkerRuntime } from './worker-thread.ts';
import type { Layer4World } from './layer4/world.ts';
import type { World } from './world.ts';

const READ_BUFFER_BYTES = 65_536;
const SPARE_HEADS = 256;
/** One message of a kind a slot and second is enough to have its name looked up again, or to be read in the log. */
const REPORT_MS = 1000;
/** A client that keeps asking asks again within this time, and is told that the connection ends. */
const MAX_FAREWELL_MS = 1000;

interface Staged {
  readonly manifest: PlanManifest;
  readonly generation: Generation;
}

export class Runtime implements WorkerRuntime, World {
  readonly clock: Clock;
  readonly random: Random;
  readonly wheel: TimerWheel;
  readonly facts: Rows;
  readonly servers: Rows;
  readonly endpoints: Endpoints;
  readonly streams: Streams;
  readonly accessLog: AccessLog;
  readonly errands: Errands;
  draining = false;
  readonly #deps: RuntimeDeps;
  readonly #processFacts: ProcessFacts;
  readonly #shutdown: { atMs: number | null } = { atMs: null };
  readonly #sections: Sections;
  readonly #upstreamTls = new TlsMemory();
  readonly #connections = new Set<ClientConnection>();
  readonly #admission: Admission;
  readonly #tls: TlsFront;
  readonly #tcpSessions: TcpSessions;
  readonly #udp: UdpListeners;
  /** Places of connections to servers that limit them. */
  readonly #places = new WeakMap<ClientConnection, Place>();
  readonly #heads: Head[] = [];
  readonly #staged = new Map<number, Staged>();
  /** When a failed dial, or an answer that is no HTTP, may be told of again, by slot. */
  readonly #nextDialReport = new Map<number, number>();
  readonly #nextInvalidReport = new Map<number, number>();
  readonly #nextRefusedReport = new Map<number, number>();
  #force: Staged | null = null;
  #onEmpty: (() => void) | null = null;

  constructor(deps: RuntimeDeps, processFacts: ProcessFacts) {
    this.#deps = deps;
    this.#processFacts = { ...processFacts, shutdown: this.#shutdown };
    this.clock = deps.clock;
    this.random = deps.random;
    this.facts = deps.table.facts(deps.lane);
    this.servers = deps.table.servers(deps.lane);
    this.wheel = new TimerWheel(deps.clock);
    this.#admission = new Admission(deps);
    this.#tls = this.#makeTlsFront();
    this.#sections = new Sections(deps.table);
    this.accessLog = new AccessLog(deps.clock, (output, lines) => deps.post({ type: 'access', output, lines }));
    this.errands = new Errands({ ...deps, pools: this.#sections });
    this.streams = new Streams(this.wheel);
    const readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
    this.endpoints = new Endpoints({
      wheel: this.wheel,
      facts: this.facts,
      table: deps.table,
      readBuffer,
      head: new Head(),
      tls: this.#upstreamTls,
      legFailed: (slot, detail) => this.#legFailed(slot, detail),
    });
    this.#udp = new UdpListeners(this.#udpWorld());
    this.#tcpSessions = new TcpSessions(this.#layer4World(readBuffer), () => this.#mayBeEmpty());
  }

  // --- generations --------------------------------------------------------------------------------

  stageMembers(pool: SectionHash, members: readonly MemberPlan[], rows: readonly MemberRows[]): void {
    this.#sections.addMembers(pool, members, rows);
  }

  stageSection(section: Section, rows: PoolRows | null): void {
    // Now rather than when the first request needs it: the authorities of the system take some 50 ms to read.
    const tls = section.kind === 'pool' ? section.transport.tls : undefined;
    if (tls !== undefined) this.#upstreamTls.contextOf(tls);
    this.#sections.add(section, rows);
  }

  /** Compiles the generation without putting it in force. Throws when it cannot be compiled. */
  stage(manifest: PlanManifest): void {
    const servers = manifest.servers.map(
      (plan) =>
        new HttpServer(
          plan,
          (hash) => this.#sections.site(hash),
          (hash) => this.#sections.pool(hash),
          this.#processFacts,
          (pattern, addresses) => this.errands.derivations.find(pattern, addresses),
        ),
    );
    const serverOf = new Map<string, HttpServer>();
    manifest.servers.forEach((plan, index) => {
      for (const key of plan.listeners) serverOf.set(key, servers[index]!);
    });
    const layer4Of = this.#compileLayer4(manifest);
    this.#staged.set(manifest.generation, {
      manifest,
      generation: { number: manifest.generation, serverOf, layer4Of, active: 0 },
    });
  }

  #compileLayer4({ layer4 }: PlanManifest): ReadonlyMap<string, Layer4Server> {
    const serverOf = new Map<string, Layer4Server>();
    for (const plan of layer4) {
      const section = this.#sections.layer4(plan.section);
      const server = new Layer4Server(plan, section, (hash) => this.#sections.pool(hash));
      for (const key of plan.listeners) serverOf.set(key, server);
    }
    return serverOf;
  }

  commit(generation: number): void {
    const next = this.#staged.get(generation);
    if (next === undefined) throw new Error(`generation ${generation} was not staged`);
    const old = this.#force;
    this.#force = next;
    this.#staged.delete(generation);
    this.#retainSections();
    this.streams.reloaded(() => this.#sections.streamKeys(next.manifest));
    for (const connection of this.#connections) {
      if (!connection.mayStay(next.generation.serverOf.get(connection.listenerKey))) connection.retire(0);
    }
    // Before sessions move to the new generation: the last one that does reports the old one itself.
    const wasIdle = old !== null && old.generation.active === 0;
    this.#udp.follow((key) => this.#udpPlan(key));
    if (wasIdle) this.#reportIdle(old.generation);
  }

  rollback(generation: number): void {
    this.#staged.delete(generation);
    this.#retainSections();
  }

  updateEndpoints(pool: SectionHash, member: number, rows: MemberRows): void {
    this.#sections.updateEndpoints(pool, member, rows);
  }

  recastPool(pool: SectionHash, rows: PoolRows): void {
    this.#sections.recastPool(pool, rows);
  }

  #retainSections(): void {
    const manifests = [...this.#staged.values()].map(({ manifest }) => manifest);
    if (this.#force !== null) manifests.push(this.#force.manifest);
    this.#sections.retain(manifests);
  }

  #reportIdle(generation: Generation): void {
    this.#deps.post({ type: 'generation-idle', generation: generation.number });
  }

  // --- connections --------------------------------------------------------------------------------

  accept(listenerKey: string, socket: Socket): void {
    const generation = this.#force?.generation;
    const layer4 = generation?.layer4Of.get(listenerKey);
    if (layer4 !== undefined) return this.#tcpSessions.accept(layer4, generation!, socket);
    const current = this.current(listenerKey);
    const server = current?.server;
    const headers = server?.proxyHeader ?? null;
    const policy = headers?.policyFor(socket.remoteAddress) ?? 'skip';
    const limits = server?.options.connectionLimits ?? null;
    // Whose header counts is one source among many until it is read.
    const isForOthers = policy === 'use' || policy === 'require';
    const place =
      limits === null
        ? null
        : this.#admit(server!, isForOthers ? { ...limits, perSource: 0 } : limits, socket, listenerKey);
    if (limits !== null && place === null) return;
    this.#countLane(LANE_CONNECTIONS, 1);
    if (server !== undefined) this.servers.count(server.row, SERVER_CONNECTIONS_ACCEPTED, 1);
    if (headers === null || policy === 'skip') this.#begin(server, socket, listenerKey, place);
    else this.#serve(new HeaderReader(this, socket, listenerKey, policy, headers.timeoutMs), place);
  }

  #admit(server: HttpServer, limits: ConnectionLimits, socket: Socket, listenerKey: string): Place | null {
    return this.#admission.admit(server.row, limits, socket, server.tls?.speaks(listenerKey) === true);
  }

  #begin(server: HttpServer | undefined, socket: Socket, listenerKey: string, place: Place | null): void {
    if (server?.tls?.speaks(listenerKey) === true) this.#tls.accept(server.tls, server.row, socket, listenerKey, place);
    else if (server?.options.h2c === true) this.#serve(new PrefaceReader(this, server, socket, listenerKey), place);
    else this.#serve(new ServerConnection(this, socket, listenerKey), place);
  }

  /** Only now its source is known, so its place is asked for again: the one it had may be somebody else's by then. */
  onHeaderRead(reader: HeaderReader, socket: Socket): void {
    if (!this.#connections.delete(reader)) return;
    const early = this.#places.get(reader) ?? null;
    if (early !== null) this.#admission.leave(early);
    const { listenerKey } = reader;
    const server = this.current(listenerKey)?.server;
    const limits = server?.options.connectionLimits ?? null;
    const place = limits === null ? null : this.#admit(server!, limits, socket, listenerKey);
    if (limits !== null && place === null) return this.#connectionGone(null);
    this.#begin(server, socket, listenerKey, place);
    socket.resume();
  }

  onBadHeader({ listenerKey }: HeaderReader): void {
    const server = this.current(listenerKey)?.server;
    if (server !== undefined) this.servers.count(server.row, SERVER_BAD_REQUESTS, 1);
  }

  #serve(connection: ClientConnection, place: Place | null): void {
    this.#connections.add(connection);
    if (this.draining) connection.retire(MAX_FAREWELL_MS);
    if (place !== null) this.#places.set(connection, place);
  }

  onPrefaceRead(reader: PrefaceReader, socket: Socket, isHttp2: boolean): void {
    if (!this.#connections.delete(reader)) return;
    this.#open(socket, reader.listenerKey, this.#places.get(reader) ?? null, isHttp2);
    if (!isHttp2) socket.resume();
  }

  /** What a client speaks is known now. */
  #open(
    socket: Socket,
    listenerKey: string,
    place: Place | null,
    isHttp2: boolean,
    raw: Socket = socket,
    tls: TlsFacts | null = null,
  ): void {
    const server = this.current(listenerKey)?.server;
    const connection =
      isHttp2 && server !== undefined && !socket.destroyed
        ? new ClientSession(this, server, socket, listenerKey, raw, tls)
        : new ServerConnection(this, socket, listenerKey, raw, tls);
    this.#serve(connection, place);
    if (!this.draining && !connection.mayStay(server)) connection.retire(0);
  }

  #makeTlsFront(): TlsFront {
    return new TlsFront({
      wheel: this.wheel,
      servers: this.servers,
      onSecure: (socket, raw, facts, listenerKey, place) =>
        this.#open(socket, listenerKey, place, facts.proto === 'h2', raw, facts),
      onFailed: (place) => this.#connectionGone(place),
      ask: (id, name, challenge) => this.#deps.post({ type: 'certificate-wanted', id, name, challenge }),
      warn: (message) => this.#deps.post({ type: 'log', level: 'error', message, fields: {} }),
    });
  }

  updateCertificates(add: readonly CertificatePlan[], drop: readonly string[]): void {
    this.#tls.updateCertificates(add, drop);
  }

  setTicketKeys(keys: Uint8Array): void {
    this.#tls.setTicketKeys(keys);
  }

  shuttingDown(atMs: number): void {
    this.#shutdown.atMs = atMs;
  }

  forgetSlots(slots: readonly number[]): void {
    this.endpoints.forget(slots);
    for (const slot of slots) {
      this.#nextDialReport.delete(slot);
      this.#nextInvalidReport.delete(slot);
      this.#nextRefusedReport.delete(slot);
    }
  }

  derived(answer: DerivedAnswer): void {
    this.errands.derivations.answered(answer);
  }

  forgetDerived(pools: readonly SectionHash[]): void {
    this.errands.derivations.forget(pools);
    for (const pool of pools) this.#sections.dropDerived(pool);
  }

  metricsAnswered(id: number, text: string | null): void {
    this.errands.metricsAnswered(id, text);
  }

  challengeAnswered(id: number, text: string | null): void {
    this.errands.challengeAnswered(id, text);
  }

  certificateAnswered(id: number, certificate: CertificatePlan | null): void {
    this.#tls.certificateAnswered(id, certificate);
  }

  cutSlots(slots: readonly number[]): void {
    for (const connection of [...this.endpoints.open]) if (slots.includes(connection.slot)) connection.cut();
    this.#tcpSessions.cut(slots, 'finish');
    this.#udp.cutSlots(slots);
  }

  cutPool(pool: SectionHash, slots: readonly number[], how: 'finish' | 'reset'): void {
    const left = new Set(slots);
    const open = [...this.endpoints.open].filter(({ slot }) => left.has(slot));
    inBatches(this.clock, open, (connection) => connection.cutPool(pool, how));
    this.#tcpSessions.cut(slots, how, pool);
    this.#udp.cutSlots(slots, pool);
  }

  /** Ends idle connections soon, busy ones after their response, and resets what is left after `graceMs`. */
  async drain(graceMs: number): Promise<number> {
    this.draining = true;
    const idleMs = Math.min(MAX_FAREWELL_MS, graceMs / 2);
    for (const connection of [...this.#connections]) connection.retire(idleMs);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEmpty = resolve;
    const timer = this.clock.after(graceMs, resolve);
    this.#udp.drain();
    if (this.#clients > 0) await promise;
    timer.cancel();
    const left = this.#clients;
    for (const connection of [...this.#connections]) connection.abort();
    this.resetAll();
    return left;
  }

  resetAll(): void {
    this.#admission.resetAll();
    this.#tls.resetAll();
    for (const connection of [...this.#connections]) connection.reset();
    this.#tcpSessions.abortAll();
    this.#udp.closeAll();
    for (const connection of [...this.endpoints.open]) connection.reset();
    this.accessLog.flush();
  }

  get #clients(): number {
    return this.#connections.size + this.#tls.size + this.#tcpSessions.size + this.#udp.sessions;
  }

  /** The end of a drain: the last client of whatever layer has gone. */
  #mayBeEmpty(): void {
    if (this.#clients === 0) this.#onEmpty?.();
  }

  listenUdp(key: string, socket: UdpSocket): void {
    this.#udp.listen(key, socket, this.#udpPlan(key));
  }

  unlistenUdp(key: string): void {
    this.#udp.unlisten(key);
  }

  #udpPlan(key: string): UdpPlan | null {
    const generation = this.#force?.generation;
    const server = generation?.layer4Of.get(key);
    return generation === undefined || server === undefined ? null : { server, generation };
  }

  #udpWorld(): UdpWorld {
    const { clock, random, wheel, facts, servers } = this;
    return {
      ...{ clock, random, wheel, facts, servers },
      admission: this.#admission,
      newRate: new NewRate(this.#deps),
      budget: new SessionBudget(this.#deps),
      // One lane is nobody's: it keeps the totals of workers that are gone.
      workers: () => Math.max(1, this.#deps.table.laneCount - 1),
      refused: (slot) => this.#refused(slot),
      passiveResult: (pool, row, outcome, strike) => this.passiveResult(pool, row, outcome, strike),
      sessionStarted: (generation) => {
        this.tunnelStarted();
        this.exchangeStarted(generation);
      },
      sessionEnded: (generation) => {
        this.tunnelEnded();
        this.exchangeEnded(generation);
        this.#mayBeEmpty();
      },
      warn: (message, fields) => this.#deps.post({ type: 'log', level: 'warn', message, fields }),
    };
  }

  #layer4World(readBuffer: Buffer): Layer4World {
    const { clock, random, wheel, facts, servers } = this;
    return {
      ...{ clock, random, wheel, facts, servers, readBuffer },
      admission: this.#admission,
      newRate: new NewRate(this.#deps),
      tls: this.#tls,
      upstreamTls: this.#upstreamTls,
      legFailed: (slot, detail) => this.#legFailed(slot, detail),
      dialFailed: (slot, code) => this.dialFailed(slot, code),
      passiveResult: (pool, row, outcome, strike) => this.passiveResult(pool, row, outcome, strike),
      exchangeStarted: (generation) => this.exchangeStarted(generation),
      exchangeEnded: (generation) => this.exchangeEnded(generation),
      tunnelStarted: () => this.tunnelStarted(),
      tunnelEnded: () => this.tunnelEnded(),
      countConnections: (delta) => this.#countLane(LANE_CONNECTIONS, delta),
    };
  }

  #countLane(word: number, delta: number): void {
    this.#deps.table.lanes.add(this.#deps.lane, word, delta);
  }

  // --- the world of exchanges ---------------------------------------------------------------------

  current(listenerKey: string): { readonly server: HttpServer; readonly generation: Generation } | null {
    const generation = this.#force?.generation;
    const server = generation?.serverOf.get(listenerKey);
    return generation === undefined || server === undefined ? null : { server, generation };
  }

  exchangeStarted(generation: Generation): void {
    generation.active += 1;
    this.#countLane(LANE_EXCHANGES, 1);
  }

  exchangeEnded(generation: Generation): void {
    generation.active -= 1;
    this.#countLane(LANE_EXCHANGES, -1);
    if (generation.active === 0 && generation !== this.#force?.generation) this.#reportIdle(generation);
  }

  tunnelStarted(): void {
    this.#countLane(LANE_TUNNELS, 1);
  }

  tunnelEnded(): void {
    this.#countLane(LANE_TUNNELS, -1);
  }

  connectionClosed(connection: ClientConnection): void {
    if (!this.#connections.delete(connection)) return;
    this.#connectionGone(this.#places.get(connection) ?? null);
  }

  #connectionGone(place: Place | null): void {
    if (place !== null) this.#admission.leave(place);
    this.#countLane(LANE_CONNECTIONS, -1);
    this.#mayBeEmpty();
  }

  dialFailed(slot: number, code: string): void {
    if (code === 'ECONNREFUSED') this.#refused(slot);
    else if (this.#mayReport(this.#nextDialReport, slot)) this.#deps.post({ type: 'dial-failed', slot });
  }

  #refused(slot: number): void {
    if (this.#mayReport(this.#nextRefusedReport, slot)) this.#deps.post({ type: 'refused', slot });
  }

  upstreamInvalid(slot: number, upstream: string, detail: string): void {
    if (!this.#mayReport(this.#nextInvalidReport, slot)) return;
    this.#deps.post({
      type: 'log',
      level: 'warn',
      message: 'upstream sent no valid HTTP',
      fields: { upstream, detail },
    });
  }

  #legFailed(slot: number, detail: string): void {
    if (!this.#mayReport(this.#nextInvalidReport, slot)) return;
    this.#deps.post({ type: 'log', level: 'warn', message: 'no connection to upstream', fields: { detail } });
  }

  passiveResult(pool: SectionHash, row: number, outcome: 'failed' | 'passed', strike: number): void {
    this.#deps.post({ type: 'passive', pool, row, outcome, strike });
  }

  #mayReport(next: Map<number, number>, slot: number): boolean {
    if (this.wheel.now < (next.get(slot) ?? 0)) return false;
    next.set(slot, this.wheel.now + REPORT_MS);
    return true;
  }

  takeHead(): Head {
    return this.#heads.pop() ?? new Head();
  }

  giveHead(head: Head): void {
    if (this.#heads.length < SPARE_HEADS) this.#heads.push(head);
  }
}
