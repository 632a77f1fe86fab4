/** A backend of the demo: a process of its own, so that `kill` ends it. Arguments: number, port. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { visitPage, visitText } from './page.ts';

function createBackend(backend: number): Server {
  let served = 0;
  return createServer((request, response) => {
    if (request.url === '/healthz') {
      response.end('ok\n');
      return;
    }
    served += 1;
    const visit = { backend, pid: process.pid, client: clientOf(request), served };
    const isBrowser = request.headers.accept?.includes('text/html') ?? false;
    response.setHeader('Content-Type', `text/${isBrowser ? 'html' : 'plain'}; charset=utf-8`);
    response.setHeader('Cache-Control', 'no-store');
    response.end(isBrowser ? visitPage(visit) : visitText(visit));
  });
}

/** The balancer replaces the header unless it trusts its peer, so the last entry is the client. */
function clientOf(request: IncomingMessage): string {
  const forwarded = request.headersDistinct['x-forwarded-for']?.join(',') ?? '';
  return forwarded.split(',').at(-1)?.trim() || (request.socket.remoteAddress ?? 'unknown');
}

const server = createBackend(Number(process.argv[2]));
server.on('error', () => process.exit(1));
server.listen(Number(process.argv[3]), '127.0.0.1', () => process.send?.('listening'));
// The demo's own end closes the channel, however it ends: no backend may outlive it.
process.on('disconnect', () => process.exit(0));
