/** Entry of the thread that checks passwords for one worker: a check takes up to seconds, and a worker must not stand still. */
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { isPassword } from '../../shared/passwords/password-hash.ts';

export interface HashQuestion {
  readonly id: number;
  readonly hash: string;
  /** Bytes. */
  readonly password: string;
}

export interface HashAnswer {
  readonly id: number;
  readonly isRight: boolean;
}

/** Niceness. Guesses of passwords must not take the processor from those who serve. */
const PRIORITY = 10;

// Only on Linux is 0 this thread; elsewhere it is the whole process.
if (process.platform === 'linux') setPriority(0, PRIORITY);

parentPort?.on('message', ({ id, hash, password }: HashQuestion) => {
  const answer: HashAnswer = { id, isRight: isPassword(Buffer.from(password, 'latin1'), hash) };
  parentPort?.postMessage(answer);
});
