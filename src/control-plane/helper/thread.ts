/**
 * Entry of the helper thread: does one job and hands the result over in pieces, each when it is asked for, so
 * that the main thread takes them in turns of its own choice.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { ConfigJob } from './config-job.ts';
import { answerJob } from './replies.ts';

const replies = answerJob(workerData as ConfigJob);

parentPort?.on('message', () => {
  const { value } = replies.next();
  if (value !== undefined) parentPort?.postMessage(value);
});
