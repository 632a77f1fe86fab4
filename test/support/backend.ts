/** Servers to balance over: a well-behaved one on node:http, and a scripted one on raw sockets. */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server as HttpServer,
} from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface Backend {
  readonly name: string;
  readonly port: number;
  /** Request lines as `METHOD target`, in order. */
  readonly requests: readonly IncomingMessage[];
  readonly bodies: readonly Buffer[];
  readonly sockets: ReadonlySet<Socket>;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Closes the listener and resets every connection: the server is gone. */
  kill(): Promise<void>;
  /** Listens again on the same port. */
  revive(): Promise<void>;
}

/** Answers 200 with its name, or what `listener` says; `bodies` are collected unless a listener is given. */
export async function startBackend(
  t: TestContext,
  name: string,
  listener?: RequestListener,
  port = 0,
  host = '127.0.0.1',
): Promise<Backend> {
  const requests: IncomingMessage[] = [];
  const bodies: Buffer[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  let server: HttpServer;
  let boundPort = port;
  const listen = async (): Promise<void> => {
    server = createHttpServer((request, response) => {
      requests.push(request);
      if (listener !== undefined) {
        listener(request, response);
        return;
      }
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(Buffer.concat(chunks));
        response.setHeader('X-Backend', name);
        response.end(name);
      });
    });
    server.keepAliveTimeout = 60_000;
    server.on('connection', (socket) => {
      accepted += 1;
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(boundPort, host, resolve);
    });
    boundPort = (server.address() as AddressInfo).port;
  };
  const kill = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.resetAndDestroy();
    await closed;
  };
  await listen();
  t.after(() => kill());
  return {
    name,
    requests,
    bodies,
    sockets,
    get accepted() {
      return accepted;
    },
    get port() {
      return boundPort;
    },
    kill,
    revive: listen,
  };
}

export interface ScriptedUpstream {
  readonly port: number;
  /** Everything received on each connection, in order of arrival, latin1. */
  readonly received: readonly string[];
  readonly sockets: readonly Socket[];
}

/** A raw TCP server: `script` gets each connection with its number. Every socket has an error listener. */
export async function startScripted(
  t: TestContext,
  script: (socket: Socket, index: number, received: () => string) => void,
): Promise<ScriptedUpstream> {
  const received: string[] = [];
  const sockets: Socket[] = [];
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const index = sockets.push(socket) - 1;
    received[index] = '';
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      received[index] += chunk.toString('latin1');
    });
    script(socket, index, () => received[index]!);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  return { port: (server.address() as AddressInfo).port, received, sockets };
}

/** Polls until `test` holds; fails after `timeoutMs`. */
export async function eventually(
  test: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 15_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await test())) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
