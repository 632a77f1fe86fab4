import { Worker } from 'node:worker_threads';

/**
 * An alarm, not a fence: V8 takes the whole process down in most cases of heap exhaustion, and
 * Buffers are not counted. Caps on queues and tables are what bounds memory.
 */
const HEAP_ALARM_MB = 2048;

export type WorkerEntry = 'worker' | 'acceptor' | 'helper';

const PATHS: Readonly<Record<WorkerEntry, string>> = {
  worker: '../../data-plane/worker',
  acceptor: '../../data-plane/acceptor',
  helper: '../helper/thread',
};

/** The file of an entry: `.ts` beside the sources, `.js` in what is published. */
export function entryUrl(entry: WorkerEntry): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`${PATHS[entry]}.${extension}`, import.meta.url);
}

/** Opens a thread that inherits nothing: no exec arguments, only the environment given here. */
export function openWorker(entry: URL, name: string, data: unknown, env: Readonly<Record<string, string>>): Worker {
  return new Worker(entry, {
    name,
    workerData: data,
    execArgv: [],
    env: { ...env },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_ALARM_MB },
  });
}
