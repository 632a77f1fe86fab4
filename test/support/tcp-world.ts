/** Layer-4 TCP connections of a worker without the worker: real sockets, rows of its own, a clock of the test's. */
import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { Layer4HandlerPlan, Layer4Options, Layer4RoutePlan } from '../../src/shared/plan/layer4.ts';
import { FACT_CONNECTIONS, FACT_IN_FLIGHT, SERVER_IN_FLIGHT } from '../../src/shared/state-table/layout.ts';
import { Layer4Server } from '../../src/data-plane/layer4/server.ts';
import { TcpSessions } from '../../src/data-plane/layer4/tcp-sessions.ts';
import type { Layer4World } from '../../src/data-plane/layer4/world.ts';
import type { Pool } from '../../src/data-plane/pool/pool.ts';
import { TlsMemory } from '../../src/data-plane/pool/tls-memory.ts';
import type { Generation } from '../../src/data-plane/server.ts';
import { TlsFront } from '../../src/data-plane/tls/front.ts';
import { RawClient } from './raw-client.ts';
import { SERVER_ROW, UdpTestWorld } from './udp-world.ts';

export class TcpTestWorld extends UdpTestWorld {
  readonly failedDials: number[] = [];
  /** Why servers could not be spoken to. */
  readonly failedLegs: string[] = [];
  readonly front: TlsFront;
  readonly sessions: TcpSessions;
  /** Client connections, as the acceptor counts them. */
  connections = 0;
  readonly generation: Generation = { number: 1, serverOf: new Map(), layer4Of: new Map(), active: 0 };

  constructor() {
    super();
    const { clock, random, wheel, facts, servers, admission, newRate } = this.world;
    this.front = new TlsFront({
      ...{ wheel, servers },
      onSecure: () => assert.fail('layer 4 owns its handshakes'),
      ask: () => {},
      onFailed: () => assert.fail('layer 4 owns its handshakes'),
      warn: (message) => assert.fail(message),
    });
    const world: Layer4World = {
      tls: this.front,
      upstreamTls: new TlsMemory(),
      legFailed: (_slot, detail) => void this.failedLegs.push(detail),
      ...{ clock, random, wheel, facts, servers, admission, newRate },
      readBuffer: Buffer.allocUnsafeSlow(65_536),
      passiveResult: (pool, row, outcome) => void this.passive.push(`${pool} ${row} ${outcome}`),
      dialFailed: (slot) => void this.failedDials.push(slot),
      exchangeStarted: (generation) => void (generation.active += 1),
      exchangeEnded: (generation) => void (generation.active -= 1),
      tunnelStarted: () => {},
      tunnelEnded: () => {},
      countConnections: (delta) => void (this.connections += delta),
    };
    this.sessions = new TcpSessions(world, () => {});
  }

  server(
    routes: readonly Layer4RoutePlan[],
    pools: readonly Pool[],
    options: Partial<Layer4Options> = {},
  ): Layer4Server {
    return new Layer4Server(
      {
        name: 'tcp0',
        row: SERVER_ROW,
        network: 'tcp',
        listeners: [],
        section: 's',
        options: {
          idleTimeoutMs: 900_000,
          matchingTimeoutMs: 3000,
          limits: null,
          newPerSecond: 0,
          udp: null,
          ...options,
        },
      },
      { kind: 'layer4', hash: 's', routes, pools: pools.map(({ section }) => section.hash) },
      (hash) => pools.find(({ section }) => section.hash === hash)!,
    );
  }

  /** Listens for a server of the routes; returns the port. Everything is closed with the test. */
  async serve(
    t: TestContext,
    routes: readonly Layer4RoutePlan[],
    pools: readonly Pool[] = [],
    options: Partial<Layer4Options> = {},
  ): Promise<number> {
    const layer4 = this.server(routes, pools, options);
    const listener = createServer((socket: Socket) => this.sessions.accept(layer4, this.generation, socket));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      listener.close();
      this.sessions.abortAll();
    });
    return (listener.address() as AddressInfo).port;
  }

  /** One route that takes everything. */
  route(
    t: TestContext,
    handle: readonly Layer4HandlerPlan[],
    pool: Pool | null,
    options: Partial<Layer4Options> = {},
  ): Promise<number> {
    return this.serve(t, [{ match: [], handle }], pool === null ? [] : [pool], options);
  }

  /** One route to the pool. */
  forward(t: TestContext, pool: Pool, options: Partial<Layer4Options> = {}): Promise<number> {
    return this.route(t, [forwardTo(pool)], pool, options);
  }

  /** Of a slot: connections on it, and open sockets to it. */
  running(row: number): readonly [inFlight: number, connections: number] {
    return [this.table.facts(0).load(row, FACT_IN_FLIGHT), this.table.facts(0).load(row, FACT_CONNECTIONS)];
  }

  get inFlight(): number {
    return this.table.servers(0).load(SERVER_ROW, SERVER_IN_FLIGHT);
  }
}

export function forwardTo(pool: Pool): Layer4HandlerPlan {
  return { handler: 'proxy', pool: pool.section.hash, proxyHeaderOn: 'each' };
}

/** A client that is closed with the test. One that is reset at once may see it instead of the connection. */
export async function connectTo(
  t: TestContext,
  port: number,
  localAddress = '127.0.0.1',
  host = '127.0.0.1',
): Promise<RawClient> {
  const socket = connect({ port, host, localAddress, allowHalfOpen: true, noDelay: true });
  const client = new RawClient(socket);
  t.after(() => client.close());
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('error', () => resolve()));
  return client;
}

/** A port that refuses: it was free a moment ago. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
