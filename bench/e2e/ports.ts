import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ports the kernel gives to outgoing connections (from 32768): thousands of those are open during a run. */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;

/** Ports that are free on 127.0.0.1 now, none of them twice. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
