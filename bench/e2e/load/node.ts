import { beside } from '../bench.ts';
import type { LoadGenerator, LoadResult } from './load.ts';

/** For machines without wrk. It costs more CPU per request than wrk, so the proxy may not be saturated. */
export const nodeLoad: LoadGenerator = {
  name: 'node:net, 1 thread',
  async run(bench, port, connections, seconds) {
    const output = await bench.processes.run({
      command: process.execPath,
      args: [beside(import.meta.url, 'node-client.ts'), String(port), String(connections), String(seconds)],
      cores: bench.otherCores,
    });
    return JSON.parse(output) as LoadResult;
  },
};
