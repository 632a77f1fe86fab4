import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Answer } from './client.ts';
import type { Running } from './processes.ts';

const RETRY_MS = 2;
const GIVE_UP_MS = 10_000;

/** Asks again and again until the status is 200. Throws with what the process printed when that takes over ten seconds or it ended. */
export async function askUntilAnswered(port: number, path: string, running: Running, name: string): Promise<Answer> {
  const until = performance.now() + GIVE_UP_MS;
  for (;;) {
    const answer = await ask(port, path).catch(() => null);
    if (answer?.status === 200) return answer;
    if (performance.now() > until || !running.alive()) {
      throw new Error(`${name} does not answer:\n${running.output()}`);
    }
    await sleep(RETRY_MS);
  }
}
