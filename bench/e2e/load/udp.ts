import { beside } from '../bench.ts';
import type { LoadGenerator, LoadResult } from './load.ts';

export const udpLoad: LoadGenerator = {
  name: 'node:dgram, 1 thread',
  async run(bench, port, clients, seconds) {
    const output = await bench.processes.run({
      command: process.execPath,
      args: [beside(import.meta.url, 'udp-client.ts'), String(port), String(clients), String(seconds)],
      cores: bench.otherCores,
    });
    return JSON.parse(output) as LoadResult;
  },
};
