/** Two servers behind a balancer, of which the first one is to go: by its check, by the operator, by a reload. */
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import type { TestContext } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import type { ControlEvent } from '../../src/control-plane/types.ts';
import { globals, startBalancer, type TestBalancer } from './balance.ts';
import { connectTo } from './tcp-world.ts';
import { udpPeer } from './udp-peer.ts';

export type Layer = 'tcp' | 'udp' | 'websocket';

/** Hosts of the two servers. */
export const HOSTS: readonly [string, string] = ['127.0.0.1', '127.0.0.2'];

/** A server of one layer that answers `word` with `<number>:<word>`; number 0 or 1. */
export interface Server {
  readonly port: number;
  close(): void;
}

/** One client's session. */
export interface Session {
  /** Sends a word; the number of the server that answered, or null when the session has ended. */
  ask(): Promise<number | null>;
  /** `fin`, `reset`, `1001` (a close frame)… once it has ended; of UDP never. */
  readonly ended: string | undefined;
  close(): void;
}

/** What checks ask: 200, or 503 when told so. Both listen on one port number. */
export interface Gates {
  readonly port: number;
  /** Answers of a gate so far. */
  readonly asked: [number, number];
  readonly up: [boolean, boolean];
  /** No answer at all until it is set back. */
  readonly silent: [boolean, boolean];
}

async function listen(server: HttpServer, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** The port that is free on the first host may be taken on the second: then another pair is tried. */
export async function startGates(t: TestContext): Promise<Gates> {
  const gates = {
    port: 0,
    asked: [0, 0] as [number, number],
    up: [true, true] as [boolean, boolean],
    silent: [false, false] as [boolean, boolean],
  };
  const open = (nth: 0 | 1): HttpServer =>
    createHttpServer((_request, response) => {
      gates.asked[nth] += 1;
      if (gates.silent[nth]) return;
      response.writeHead(gates.up[nth] ? 200 : 503, { Connection: 'close' }).end();
    });
  for (;;) {
    const [first, second] = [open(0), open(1)];
    try {
      gates.port = await listen(first, HOSTS[0], 0);
      await listen(second, HOSTS[1], gates.port);
    } catch {
      first.close();
      continue;
    }
    t.after(() => {
      for (const server of [first, second]) {
        server.closeAllConnections();
        server.close();
      }
    });
    return gates;
  }
}

export async function startServer(t: TestContext, layer: Layer, nth: 0 | 1): Promise<Server> {
  const server = await START[layer](nth);
  t.after(() => server.close());
  return server;
}

const START: Readonly<Record<Layer, (nth: 0 | 1) => Promise<Server>>> = {
  tcp: async (nth) => {
    const sockets = new Set<{ destroy(): void }>();
    const server = createServer({ allowHalfOpen: false, noDelay: true }, (socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('data', (word: Buffer) => socket.write(`${nth}:${String(word)}`));
    });
    server.listen(0, HOSTS[nth]);
    await once(server, 'listening');
    const close = (): void => {
      for (const socket of sockets) socket.destroy();
      server.close();
    };
    return { port: (server.address() as AddressInfo).port, close };
  },
  udp: async (nth) => {
    const socket = createSocket('udp4');
    socket.on('error', () => {});
    socket.on('message', (word, from) => socket.send(`${nth}:${String(word)}`, from.port, from.address));
    socket.bind(0, HOSTS[nth]);
    await once(socket, 'listening');
    let isOpen = true;
    const close = (): void => {
      if (isOpen) socket.close();
      isOpen = false;
    };
    return { port: socket.address().port, close };
  },
  websocket: async (nth) => {
    const server = new WebSocketServer({ port: 0, host: HOSTS[nth] });
    await once(server, 'listening');
    server.on('connection', (socket) => {
      socket.on('error', () => {});
      socket.on('message', (word: Buffer) => socket.send(`${nth}:${word.toString()}`));
    });
    const close = (): void => {
      for (const socket of server.clients) socket.terminate();
      server.close();
    };
    return { port: (server.address() as AddressInfo).port, close };
  },
};

let words = 0;

function nextWord(): string {
  words += 1;
  return `<${words}>`;
}

function numberIn(text: string): number {
  return Number(/(\d):<\d+>$/.exec(text)?.[1]);
}

export async function openSession(t: TestContext, layer: Layer, port: number): Promise<Session> {
  return OPEN[layer](t, port);
}

const OPEN: Readonly<Record<Layer, (t: TestContext, port: number) => Promise<Session>>> = {
  tcp: async (t, port) => {
    const client = await connectTo(t, port);
    return {
      ask: async () => {
        const word = nextWord();
        client.send(word);
        await client.until(() => client.received.endsWith(word) || client.end !== undefined);
        return client.end === undefined ? numberIn(client.received) : null;
      },
      get ended() {
        return client.end;
      },
      close: () => client.socket.destroy(),
    };
  },
  udp: async (t, port) => {
    const client = await udpPeer(t);
    const test = { isOver: false };
    t.after(() => (test.isOver = true));
    return {
      ask: async () => {
        const word = nextWord();
        // Datagrams may be lost.
        while (!test.isOver) {
          client.send(word, port);
          await new Promise((resolve) => setTimeout(resolve, 20));
          const answer = client.texts.findLast((text) => text.endsWith(word));
          if (answer !== undefined) return numberIn(answer);
        }
        return null;
      },
      ended: undefined,
      close: () => {},
    };
  },
  websocket: async (t, port) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
    const seen: { ended?: string; last: string } = { last: '' };
    socket.on('error', () => {});
    socket.on('close', (code) => (seen.ended = String(code)));
    socket.on('message', (data: Buffer) => (seen.last = data.toString()));
    t.after(() => socket.terminate());
    await once(socket, 'open');
    return {
      ask: async () => {
        const word = nextWord();
        socket.send(word, () => {});
        while (!seen.last.endsWith(word) && seen.ended === undefined) {
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        return seen.ended === undefined ? numberIn(seen.last) : null;
      },
      get ended() {
        return seen.ended;
      },
      close: () => socket.terminate(),
    };
  },
};

export interface Scene {
  readonly balancer: TestBalancer;
  readonly gates: Gates;
  /** Texts of the two upstreams, as configured. */
  readonly upstreams: readonly [string, string];
  readonly servers: readonly [Server, Server];
  readonly events: readonly ControlEvent[];
  /** Work on the first server, as `upstreams()` has it; 0 when it is not shown. */
  running(): number;
  /** A config with these of the servers; `options` are lines of the pool. */
  config(which: readonly (0 | 1)[], options?: string): string;
  open(): Promise<Session>;
}

const HEALTH = 'interval 100ms\ntimeout 2s\nrise 2\nfall 2';

export async function startScene(
  t: TestContext,
  layer: Layer,
  options: string,
  given: { readonly health?: string; readonly first?: readonly (0 | 1)[] } = {},
): Promise<Scene> {
  const gates = await startGates(t);
  const servers = [await startServer(t, layer, 0), await startServer(t, layer, 1)] as const;
  const prefix = layer === 'udp' ? 'udp/' : '';
  const text = (nth: 0 | 1): string => `${prefix}${HOSTS[nth]}:${servers[nth].port}`;
  const upstreams = [text(0), text(1)] as const;
  const health = given.health ?? `health http {\npath /\nport ${gates.port}\n${HEALTH}\n}`;
  const config = (which: readonly (0 | 1)[], lines = options): string => {
    const body = `${which.map((nth) => upstreams[nth]).join(' ')} {\nlb_policy first\n${health}\n${lines}\n}\n`;
    if (layer === 'websocket') return `${globals()}http://:0 {\nbind 127.0.0.1\nreverse_proxy ${body}}\n`;
    const site = `${prefix}127.0.0.1:0 {\nroute {\nproxy ${body}}\n}\n`;
    return globals(`layer4 {\n${site}}\n`);
  };
  const balancer = await startBalancer(t, config(given.first ?? [0, 1]));
  const events: ControlEvent[] = [];
  balancer.on('*', (event) => void events.push(event));
  return {
    balancer,
    gates,
    upstreams,
    servers,
    events,
    running: () => balancer.upstreams().find(({ upstream }) => upstream === upstreams[0])?.inFlight ?? 0,
    config,
    open: () => openSession(t, layer, balancer.port),
  };
}
