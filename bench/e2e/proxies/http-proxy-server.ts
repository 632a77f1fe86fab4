/** `node http-proxy-server.ts PORT BACKEND…`: the http-proxy package with a keep-alive agent. */
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { sourceHash } from './source-hash.ts';

/** The part of the package used here; it ships no types. */
interface Proxy {
  web(incoming: IncomingMessage, outgoing: ServerResponse, options: { target: string }): void;
  on(event: 'error', listener: (error: Error, incoming: IncomingMessage, outgoing: ServerResponse) => void): void;
}
interface ProxyPackage {
  createProxyServer(options: { agent: Agent; xfwd: boolean }): Proxy;
}

const { createProxyServer } = createRequire(import.meta.url)('http-proxy') as ProxyPackage;
const [port = 0, ...backends] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true, maxFreeSockets: 4096, scheduling: 'lifo' });
const proxy = createProxyServer({ agent, xfwd: true });
proxy.on('error', (_error, _incoming, outgoing) => {
  if (!outgoing.headersSent) outgoing.writeHead(502);
  outgoing.end();
});

const server = createServer({ keepAliveTimeout: 3_600_000 }, (incoming, outgoing) => {
  const at = sourceHash(incoming.socket.remoteAddress ?? '', backends.length);
  proxy.web(incoming, outgoing, { target: `http://127.0.0.1:${backends[at]}` });
});
server.listen({ port, host: '127.0.0.1', backlog: 4096 });
