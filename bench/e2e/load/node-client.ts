/** `node node-client.ts PORT CONNECTIONS SECONDS`: asks for `/` on every connection, one request at a time. */
import { connect, type Socket } from 'node:net';
import { parseAnswer, requestText } from '../client.ts';
import type { LoadResult } from './load.ts';

const [port = 0, connections = 0, seconds = 0] = process.argv.slice(2).map(Number);
const REQUEST = Buffer.from(requestText('/', `127.0.0.1:${port}`), 'latin1');
const latencies: number[] = [];
let failures = 0;

/** Each answer is parsed whole, so a wrong one counts as a failure. */
function keepAsking(socket: Socket): void {
  let text = '';
  let sentAt = 0;
  const send = (): void => {
    sentAt = performance.now();
    socket.write(REQUEST);
  };
  socket.on('connect', send);
  socket.on('data', (data) => {
    text += data.toString('latin1');
    const answer = parseAnswer(text);
    if (answer === null) return;
    text = '';
    if (answer.status === 200) latencies.push(performance.now() - sentAt);
    else failures += 1;
    send();
  });
}

function open(): Socket {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  socket.on('error', () => {});
  socket.on('close', () => (failures += 1));
  keepAsking(socket);
  return socket;
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const startedAt = performance.now();
const sockets = Array.from({ length: connections }, open);
setTimeout(() => {
  const measured = (performance.now() - startedAt) / 1_000;
  for (const socket of sockets) {
    socket.removeAllListeners('close');
    socket.destroy();
  }
  latencies.sort((a, b) => a - b);
  const result: LoadResult = {
    requests: latencies.length,
    seconds: measured,
    failures,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
  process.stdout.write(JSON.stringify(result));
}, seconds * 1_000);
