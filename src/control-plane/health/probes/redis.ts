import { attempt } from '../attempt.ts';
import type { Probe } from '../probe.ts';
import type { RedisProbeSpec } from '../probe-spec.ts';
import { connect } from './connection.ts';
import { Conversation, mismatch, readLine } from './conversation.ts';

/** `redis`: PING. A server that wants a password first is alive, unless `strict`. */
export function redisCheck(spec: RedisProbeSpec): Probe {
  return {
    run: (target, options, deps) =>
      attempt(options.timeoutMs, deps, async (run) => {
        const line = new Conversation(run, await connect(run, target, { ...options, tls: null }));
        line.send('*1\r\n$4\r\nPING\r\n', 'PING');
        const answer = await line.receive('answer to PING', readLine);
        const alive = answer === '+PONG' || (!spec.strict && answer.startsWith('-NOAUTH'));
        if (!alive) throw mismatch(`answered ${JSON.stringify(answer.slice(0, 80))}`);
        line.send('*1\r\n$4\r\nQUIT\r\n', 'QUIT');
        line.leave('fin');
        return { detail: `answered ${answer.slice(0, 80)}` };
      }),
  };
}
