import { Worker } from 'node:worker_threads';
import type { HashAnswer, HashQuestion } from './hash-thread.ts';

export interface HashThread {
  ask(question: HashQuestion): void;
}

export interface HashThreadUser {
  onAnswer(answer: HashAnswer): void;
  /** It is gone, whatever was asked; called once. */
  onEnd(why: string): void;
}

/** As for every thread an alarm, not a fence. */
const HEAP_ALARM_MB = 64;

/** It ends with the thread that opened it, and keeps nobody alive. */
export function openHashThread(name: string, user: HashThreadUser): HashThread {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./hash-thread.${extension}`, import.meta.url), {
    name: `${name}-passwords`,
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_ALARM_MB },
  });
  let why = 'it ended';
  worker.on('message', (answer: HashAnswer) => user.onAnswer(answer));
  worker.on('error', (error: unknown) => {
    why = error instanceof Error ? error.message : String(error);
  });
  worker.on('exit', () => user.onEnd(why));
  worker.unref();
  return { ask: (question) => worker.postMessage(question) };
}
