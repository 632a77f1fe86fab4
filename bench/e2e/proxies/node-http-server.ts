/** `node node-http-server.ts PORT BACKEND…`: `node:http` server and keep-alive agent, bodies piped. */
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { sourceHash } from './source-hash.ts';

const [port = 0, ...backends] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true, maxFreeSockets: 4096, scheduling: 'lifo' });

function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const client = incoming.socket.remoteAddress ?? '';
  const host = incoming.headers.host ?? '';
  const upstream = request({
    agent,
    host: '127.0.0.1',
    port: backends[sourceHash(client, backends.length)],
    method: incoming.method,
    path: incoming.url,
    headers: { ...incoming.headers, 'x-forwarded-for': client, 'x-forwarded-proto': 'http', 'x-forwarded-host': host },
  });
  upstream.on('response', (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
  });
  upstream.on('error', () => {
    if (!outgoing.headersSent) outgoing.writeHead(502);
    outgoing.end();
  });
  incoming.pipe(upstream);
}

const server = createServer({ keepAliveTimeout: 3_600_000 }, forward);
server.listen({ port, host: '127.0.0.1', backlog: 4096 });
