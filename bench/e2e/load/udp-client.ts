/** `node udp-client.ts PORT CLIENTS SECONDS`: a datagram of 64 bytes on every socket, the next one with the answer. */
import { createSocket, type Socket } from 'node:dgram';
import type { LoadResult } from './load.ts';

const [port = 0, clients = 0, seconds = 0] = process.argv.slice(2).map(Number);
const QUESTION_BYTES = 64;
/** A datagram that is lost is asked for again after this long. */
const PATIENCE_MS = 500;
const latencies: number[] = [];
let failures = 0;
let over = false;

function open(client: number): Socket {
  const socket = createSocket('udp4');
  let asked = 0;
  let sentAt = 0;
  const ask = (): void => {
    asked += 1;
    sentAt = performance.now();
    const question = Buffer.alloc(QUESTION_BYTES);
    question.writeUInt32BE(client, 0);
    question.writeUInt32BE(asked, 4);
    socket.send(question);
  };
  socket.on('message', (data) => {
    if (data.length !== QUESTION_BYTES || data.readUInt32BE(0) !== client) failures += 1;
    if (over || data.readUInt32BE(4) !== asked) return;
    latencies.push(performance.now() - sentAt);
    ask();
  });
  socket.on('error', () => (failures += 1));
  setInterval(() => {
    if (over || performance.now() - sentAt < PATIENCE_MS) return;
    failures += 1;
    ask();
  }, PATIENCE_MS);
  socket.connect(port, '127.0.0.1', ask);
  return socket;
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const startedAt = performance.now();
for (let client = 0; client < clients; client += 1) open(client);
setTimeout(() => {
  over = true;
  const measured = (performance.now() - startedAt) / 1_000;
  latencies.sort((a, b) => a - b);
  const result: LoadResult = {
    requests: latencies.length,
    seconds: measured,
    failures,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
  process.stdout.write(JSON.stringify(result), () => process.exit());
}, seconds * 1_000);
