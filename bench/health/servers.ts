/**
 * Servers that are checked: `servers.ts <port> <count> <port to ask>`. Each has a loopback address of its own, answers
 * a request with 200, and takes what says nothing for a probe that only connects. Every tenth answers so late that
 * its next probe would be due. Who asks gets what they have seen since the last time.
 */
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { addressOf, SLOW_ANSWER_MS, SLOW_EVERY } from './addresses.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';

const [, , port = '', count = '', askPort = ''] = process.argv;
let probes = 0;
const probed = new Set<string>();

function accept(socket: Socket, address: string, slow: boolean): void {
  probed.add(address);
  probes += 1;
  socket.on('error', () => {});
  socket.once('data', () => {
    if (slow) setTimeout(() => socket.end(ANSWER), SLOW_ANSWER_MS);
    else socket.end(ANSWER);
  });
}

const servers = Array.from({ length: Number(count) }, (_, index) => {
  const address = addressOf(index);
  const server = createServer((socket) => accept(socket, address, index % SLOW_EVERY === 0));
  return new Promise<void>((resolve) => server.listen(Number(port), address, resolve));
});
await Promise.all(servers);

createHttpServer((_, response) => {
  response.end(JSON.stringify({ probes, probed: probed.size }));
  probes = 0;
  probed.clear();
}).listen(Number(askPort), '127.0.0.1');
