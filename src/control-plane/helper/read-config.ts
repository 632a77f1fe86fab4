/** Small configs are read where the caller is, large ones in a thread of their own. */
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { Adapted } from '../admin/context.ts';
import { entryUrl, openWorker } from '../workers/open-worker.ts';
import { ConfigAssembly } from './config-parts.ts';
import { runConfigJob, type ConfigJob, type ConfigResult } from './config-job.ts';
import { OversizeError } from './oversize-error.ts';
import { readReply, type HelperReply } from './replies.ts';

/**
 * Text of a config, imported files included, that is read inline: about 30 ms of this thread. A helper thread
 * takes some 200 ms to start, which every reload of a small config would have to wait for.
 */
const MAX_INLINE_CHARS = 32_768;

/** Rejects with a `ConfigError` that names the place; it is the same on both ways. */
export async function readLargeOrSmall(job: ConfigJob): Promise<ConfigResult> {
  try {
    return runConfigJob(job, MAX_INLINE_CHARS);
  } catch (error) {
    if (!(error instanceof OversizeError)) throw error;
  }
  return readAside(job);
}

/** Config text → JSON, nothing more. Rejects with a `ConfigError` that names the place. */
export async function adaptLargeOrSmall(
  request: ConfigJob['request'],
  env: Readonly<Record<string, string>>,
): Promise<Adapted> {
  const rest = { platform: process.platform, dataDir: null, secretRoot: null, inForce: null, adaptOnly: true };
  const { text, warnings } = await readLargeOrSmall({ request, env, ...rest });
  return { config: JSON.parse(text), warnings };
}

/** Reads the config in a thread that ends with it. */
export async function readAside(job: ConfigJob): Promise<ConfigResult> {
  const worker = openWorker(entryUrl('helper'), 'holdfast-helper', job, job.env);
  const gone = once(worker, 'exit').then(([code]) => {
    throw new Error(`the thread that reads large configs ended before it was done (exit code ${String(code)})`);
  });
  gone.catch(() => undefined);
  try {
    const assembly = new ConfigAssembly();
    for (;;) {
      const parts = readReply(await Promise.race([nextReply(worker), gone]));
      if (parts === null) return assembly.result();
      for (const part of parts) assembly.take(part);
    }
  } finally {
    await worker.terminate();
  }
}

async function nextReply(worker: Worker): Promise<HelperReply> {
  const answered = once(worker, 'message');
  worker.postMessage('next');
  const [reply] = await answered;
  return reply as HelperReply;
}
