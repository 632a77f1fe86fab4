/** A listener whose queue is full: what dials it gets no answer, as from a host that drops packets. */
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';

/** The thread stops for good as soon as it listens, so nothing is accepted. */
const LISTENER = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen(0, '127.0.0.1', 1, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;
/** The kernel keeps backlog + 1; more are sent and not answered. */
const FILLERS = 4;

/** Returns the port. */
export async function startFullBacklog(t: TestContext): Promise<number> {
  const worker = new Worker(LISTENER, { eval: true, execArgv: [], env: {} });
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', (message: number) => setTimeout(resolve, 50, message)).once('error', reject);
  });
  const fillers = Array.from({ length: FILLERS }, (): Socket => connect(port, '127.0.0.1').on('error', () => {}));
  t.after(async () => {
    for (const filler of fillers) filler.destroy();
    await worker.terminate();
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  return port;
}
