/** A backend on raw sockets, for machines without nginx: `node node-server.ts PORT…`. Requests have no bodies. */
import { createServer, type Socket } from 'node:net';
import { BODY, type Echo } from './answers.ts';

const TIMED = answer(BODY);
const OK = answer('ok');

function answer(body: string): Buffer {
  return Buffer.from(
    `HTTP/1.1 200 OK\r\nServer: bench\r\nDate: ${new Date().toUTCString()}\r\nContent-Type: text/plain\r\n` +
      `Content-Length: ${body.length}\r\nConnection: keep-alive\r\n\r\n${body}`,
    'latin1',
  );
}

function field(head: string, name: string): string {
  return new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim() ?? '';
}

function echo(head: string, port: number): Buffer {
  const told: Echo = {
    port: String(port),
    host: field(head, 'host'),
    for: field(head, 'x-forwarded-for'),
    proto: field(head, 'x-forwarded-proto'),
    forwardedHost: field(head, 'x-forwarded-host'),
  };
  return answer(JSON.stringify(told));
}

function serve(socket: Socket, port: number): void {
  let text = '';
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (data) => {
    text += data.toString('latin1');
    for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
      const head = text.slice(0, end);
      text = text.slice(end + 4);
      if (head.startsWith('GET /echo')) socket.write(echo(head, port));
      else socket.write(head.startsWith('GET /health') ? OK : TIMED);
    }
  });
}

for (const port of process.argv.slice(2).map(Number)) {
  createServer((socket) => serve(socket, port)).listen({ port, host: '127.0.0.1', backlog: 4096 });
}
