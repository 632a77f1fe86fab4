/** Servers behind TLS and for HTTP/2 to balance over. */
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';

export interface SecureBackend {
  readonly port: number;
  readonly requests: readonly IncomingMessage[];
  /** Completed handshakes, in order. */
  readonly secured: readonly TLSSocket[];
  /** Which of them resumed a session. */
  readonly resumed: readonly boolean[];
  readonly server: Server;
}

/** HTTP/1.1 over TLS: answers 200 with `name`, unless `listener` answers. */
export async function startHttps(
  t: TestContext,
  options: ServerOptions,
  listener?: RequestListener,
): Promise<SecureBackend> {
  const requests: IncomingMessage[] = [];
  const secured: TLSSocket[] = [];
  const server = createHttpsServer(options, (request, response) => {
    requests.push(request);
    if (listener !== undefined) listener(request, response);
    else request.resume().on('end', () => response.end('secure'));
  });
  server.keepAliveTimeout = 60_000;
  const resumed: boolean[] = [];
  server.on('secureConnection', (socket: TLSSocket) => {
    secured.push(socket);
    resumed.push(socket.isSessionReused());
  });
  return { port: await listen(t, server), requests, secured, resumed, server };
}

export interface H2Backend {
  readonly port: number;
  readonly sessions: readonly ServerHttp2Session[];
  readonly streams: readonly ServerHttp2Stream[];
  readonly server: Http2Server;
}

export type StreamListener = (
  stream: ServerHttp2Stream,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  raw: readonly string[],
) => void;

/** HTTP/2 in the clear, or over TLS when a certificate is given. */
export async function startH2(
  t: TestContext,
  listener: StreamListener,
  options: Parameters<typeof createSecureServer>[0] = {},
): Promise<H2Backend> {
  const sessions: ServerHttp2Session[] = [];
  const streams: ServerHttp2Stream[] = [];
  const server = (options.cert === undefined ? createServer(options) : createSecureServer(options)) as Http2Server;
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => undefined);
  });
  server.on('stream', (stream, headers, _flags, raw) => {
    streams.push(stream);
    stream.on('error', () => undefined);
    listener(stream, headers, raw);
  });
  server.on('sessionError', () => undefined);
  return { port: await listen(t, server), sessions, streams, server };
}

async function listen(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('tlsClientError', () => undefined);
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => undefined);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  );
  return (server.address() as AddressInfo).port;
}
