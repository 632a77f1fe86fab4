/** A fleet of real threads with the stand-in runtime, and clients for it. */
import * as net from 'node:net';
import { entryUrl } from '../../src/control-plane/workers/open-worker.ts';
import { Fleet } from '../../src/control-plane/workers/fleet.ts';
import type { ListenerSpec } from '../../src/control-plane/compile/compiled.ts';
import type { PreparedPlan } from '../../src/control-plane/reload/transaction.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { loggerTo } from '../../src/shared/log.ts';
import { StateTable, type TableChunk } from '../../src/shared/state-table/table.ts';

export interface TestFleet {
  readonly fleet: Fleet;
  readonly table: StateTable;
  readonly released: number[];
  readonly events: string[];
  /** Resolves when an event of this type has happened `count` times. */
  event(type: string, count?: number): Promise<void>;
  /** Resolves when this message has been logged. */
  logs(message: string): Promise<void>;
}

export interface TestFleetOptions {
  readonly workers?: number;
  readonly hangTimeoutMs?: number;
  readonly acceptorEntry?: URL;
}

export async function startFleet(options: TestFleetOptions = {}): Promise<TestFleet> {
  const { workers = 2, hangTimeoutMs = 30_000, acceptorEntry = entryUrl('acceptor') } = options;
  const table = new StateTable();
  const addLane = (lane: number): TableChunk[] => [...table.grow('facts', lane, 0), ...table.grow('server', lane, 0)];
  addLane(0);
  const released: number[] = [];
  const events: string[] = [];
  const logged: string[] = [];
  const waits = new Set<() => void>();
  const fleet = new Fleet({
    workers,
    workerEntry: new URL('./stand-in-worker.ts', import.meta.url),
    acceptorEntry,
    env: {},
    table,
    clock: systemClock,
    log: loggerTo((_level, message) => {
      logged.push(message);
      for (const wait of waits) wait();
    }),
    hangTimeoutMs,
    platform: process.platform,
    addLane,
    greeting: () => [],
    onMessage: () => {},
    challenge: () => Promise.resolve(null),
    certificateWanted: () => Promise.resolve(null),
    derive: () => Promise.resolve({ outcome: 'busy' }),
    touchDerived: () => undefined,
    metrics: () => Promise.resolve(null),
    onCommit: () => {},
    onRelease: (generation) => released.push(generation),
    onEvent(type) {
      events.push(type);
      for (const wait of waits) wait();
    },
  });
  await fleet.start();
  return {
    fleet,
    table,
    released,
    events,
    event: (type, count = 1) => eventually(waits, () => countOf(events, type) >= count),
    logs: (message) => eventually(waits, () => logged.includes(message)),
  };
}

function eventually(waits: Set<() => void>, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!holds()) return;
      waits.delete(look);
      resolve();
    };
    waits.add(look);
    look();
  });
}

export function countOf(words: readonly string[], word: string): number {
  return words.filter((candidate) => candidate === word).length;
}

export function listener(port = 0, accept: ListenerSpec['accept'] = 'kernel'): ListenerSpec {
  return { key: `tcp/127.0.0.1:${port}`, host: '127.0.0.1', port, accept, fd: null, place: 'Caddyfile:1' };
}

/** A UDP socket, which stays in the worker that binds it. */
export function udpListener(port = 0, owners: 'one' | 'all' = 'one'): ListenerSpec {
  return { ...listener(port), key: `udp/127.0.0.1:${port}`, network: 'udp', owners };
}

export function unixListener(path: string): ListenerSpec {
  return { ...listener(), key: `unix/${path}`, network: 'unix', unix: { path, mode: 0o600 } };
}

/** A plan of one site section. */
export function plan(
  generation: number,
  listeners: readonly ListenerSpec[],
  hash = `site-${generation}`,
): PreparedPlan {
  const route = { match: [], handle: [], group: '', terminal: false };
  return {
    manifest: { generation, servers: [], layer4: [], sections: [hash] },
    sections: new Map([[hash, { kind: 'site', hash, route, pools: [] }]]),
    listeners,
    rows: (pool) => {
      throw new Error(`no pool ${pool} in this plan`);
    },
  };
}

export function portOf({ fleet }: TestFleet): number {
  const [address] = fleet.addresses().values();
  if (address === undefined) throw new Error('nothing listens');
  return address.port;
}

/** One client connection. */
export interface Client {
  readonly socket: net.Socket;
  /** Sends a word, resolves with the answering line. */
  ask(word: string): Promise<{ lane: number; generation: number }>;
  /** How it ended: `reset`, `fin`, or another error code. */
  readonly ended: Promise<string>;
}

export async function connect(port: number): Promise<Client> {
  const socket = net.connect(port, '127.0.0.1');
  let code = 'fin';
  socket.on('error', (error: NodeJS.ErrnoException) => {
    code = error.code === 'ECONNRESET' ? 'reset' : (error.code ?? error.message);
  });
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(code)));
  socket.resume();
  await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), ended]);
  const ask: Client['ask'] = async (word) => {
    const line = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
    socket.write(`${word}\n`);
    const answer = await Promise.race([line, ended.then((how) => Promise.reject(new Error(`no answer: ${how}`)))]);
    const [lane = -1, generation = -1] = answer.split(' ').map(Number);
    return { lane, generation };
  };
  return { socket, ask, ended };
}

/** Short connections, several at a time, until `stop`; resolves with how many were answered and what failed. */
export function churn(port: number, parallel: number): { stop(): Promise<{ answered: number; failures: string[] }> } {
  const load = { running: true };
  const result = { answered: 0, failures: [] as string[] };
  const loop = async (): Promise<void> => {
    while (load.running) {
      try {
        const client = await connect(port);
        await client.ask('who');
        client.socket.destroy();
        result.answered += 1;
      } catch (error) {
        result.failures.push(error instanceof Error ? error.message : String(error));
      }
    }
  };
  const loops = Array.from({ length: parallel }, loop);
  return {
    async stop() {
      load.running = false;
      await Promise.all(loops);
      return result;
    },
  };
}
