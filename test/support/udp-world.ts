/** A UDP listener of a worker without the worker: real sockets, rows of its own, a clock of the test's. */
import type { TestContext } from 'node:test';
import type { Layer4HandlerPlan, Layer4Options, Layer4RoutePlan } from '../../src/shared/plan/layer4.ts';
import type { PoolSection, TransportPlan } from '../../src/shared/plan/types.ts';
import { systemRandom } from '../../src/shared/random.ts';
import { MEMBER_ELIGIBLE, MEMBER_STATE, MEMBER_WEIGHT, POOL_EPOCH } from '../../src/shared/state-table/layout.ts';
import { StateTable } from '../../src/shared/state-table/table.ts';
import { Admission } from '../../src/data-plane/admission.ts';
import { NewRate } from '../../src/data-plane/layer4/new-rate.ts';
import { Layer4Server } from '../../src/data-plane/layer4/server.ts';
import { SessionBudget } from '../../src/data-plane/layer4/udp/descriptors.ts';
import { UdpListener, type UdpPlan, type UdpWorld } from '../../src/data-plane/layer4/udp/listener.ts';
import { bindDatagrams } from '../../src/data-plane/layer4/udp/sockets.ts';
import { Pool } from '../../src/data-plane/pool/pool.ts';
import { TimerWheel } from '../../src/data-plane/wheel.ts';
import { FakeClock } from './fake-clock.ts';

/** Rows that a test may use. */
const ROWS = 32;
export const SERVER_ROW = 0;
export const POOL_ROW = 0;

export interface PoolOptions {
  readonly policy?: PoolSection['policy'];
  readonly passive?: PoolSection['passive'];
  readonly retry?: Partial<PoolSection['retry']>;
  readonly transport?: Partial<TransportPlan>;
  readonly hash?: string;
}

export interface Upstream {
  readonly port: number;
  /** Row of member and slot. */
  readonly row: number;
  readonly host?: string;
}

export class UdpTestWorld {
  readonly clock: FakeClock = new FakeClock();
  readonly table: StateTable = new StateTable();
  readonly refused: number[] = [];
  readonly warnings: string[] = [];
  readonly passive: string[] = [];
  /** Sessions by generation. */
  readonly active: Map<number, number> = new Map();
  readonly world: UdpWorld;

  /** `sessions`: as many as descriptors allow the process. */
  constructor(sessions = 10_000) {
    const { table, clock } = this;
    for (const kind of ['member', 'slot', 'pool', 'check'] as const) table.grow(kind, 0, ROWS);
    for (const kind of ['lane', 'facts', 'server'] as const) table.grow(kind, 0, ROWS);
    for (let row = 0; row < ROWS; row += 1) {
      table.members.store(row, MEMBER_STATE, MEMBER_ELIGIBLE);
      table.members.store(row, MEMBER_WEIGHT, 1);
    }
    const deps = { clock, table, lane: 0 };
    const count = (generation: number, delta: number): void => {
      this.active.set(generation, (this.active.get(generation) ?? 0) + delta);
    };
    this.world = {
      clock,
      random: systemRandom,
      wheel: new TimerWheel(clock),
      facts: table.facts(0),
      servers: table.servers(0),
      admission: new Admission(deps),
      newRate: new NewRate(deps),
      budget: new SessionBudget(deps, () => sessions),
      workers: () => 1,
      passiveResult: (pool, row, outcome) => void this.passive.push(`${pool} ${row} ${outcome}`),
      refused: (slot) => void this.refused.push(slot),
      sessionStarted: ({ number }) => count(number, 1),
      sessionEnded: ({ number }) => count(number, -1),
      warn: (message) => void this.warnings.push(message),
    };
  }

  pool(upstreams: readonly Upstream[], options: PoolOptions = {}): Pool {
    const members = upstreams.map(({ port }) => ({ upstream: `127.0.0.1:${port}`, identity: `127.0.0.1:${port}` }));
    const section: PoolSection = {
      kind: 'pool',
      hash: options.hash ?? 'p',
      policy: options.policy ?? { policy: 'first' },
      members,
      retry: { retries: null, tryDurationMs: null, tryIntervalMs: 250, ...options.retry },
      passive: options.passive ?? null,
      queue: null,
      transport: {
        dialTimeoutMs: 3000,
        responseHeaderTimeoutMs: 0,
        keepAliveIdleMs: 120_000,
        maxIdlePerEndpoint: 32,
        maxResponseHeaderBytes: 65_536,
        ...options.transport,
      },
    };
    const rows = upstreams.map(({ port, row, host = '127.0.0.1' }) => ({
      member: row,
      endpoints: [{ slot: row, check: -1, host, port }],
    }));
    return new Pool(section, { pool: POOL_ROW, members: rows }, this.table);
  }

  plan(handle: readonly Layer4HandlerPlan[], pool: Pool, options: Partial<Layer4Options> = {}, number = 1): UdpPlan {
    const route: Layer4RoutePlan = { match: [], handle };
    const server = new Layer4Server(
      {
        name: 'udp0',
        row: SERVER_ROW,
        network: 'udp',
        listeners: [],
        section: 's',
        options: {
          idleTimeoutMs: 20_000,
          matchingTimeoutMs: 3000,
          limits: null,
          newPerSecond: 0,
          udp: { workers: 'one', maxSessions: 1000, receiveBufferBytes: 212_992, responses: 0 },
          ...options,
        },
      },
      { kind: 'layer4', hash: 's', routes: [route], pools: [pool.section.hash] },
      () => pool,
    );
    return { server, generation: { number, serverOf: new Map(), layer4Of: new Map(), active: 0 } };
  }

  proxy(pool: Pool, options: Partial<Layer4Options> = {}, number = 1, on: 'each' | 'first' = 'each'): UdpPlan {
    return this.plan([{ handler: 'proxy', pool: pool.section.hash, proxyHeaderOn: on }], pool, options, number);
  }

  /** On an address of its own; closed with the test. */
  listen(t: TestContext, plan: UdpPlan): { readonly listener: UdpListener; readonly port: number } {
    const socket = bindDatagrams({ host: '127.0.0.1', port: 0, reusePort: false });
    const listener = new UdpListener(this.world, 'udp/127.0.0.1:0', socket, plan);
    const { port } = socket.address();
    t.after(() => listener.close());
    return { listener, port };
  }

  /** Writes a member's word as the control plane does. */
  setMember(row: number, state: number): void {
    this.table.members.store(row, MEMBER_STATE, state);
    this.table.pools.add(POOL_ROW, POOL_EPOCH, 1);
  }

  total(word: number): number {
    return this.table.servers(0).total(SERVER_ROW, word);
  }
}
