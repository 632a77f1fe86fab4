import { attempt } from '../attempt.ts';
import type { Probe } from '../probe.ts';
import { connect } from './connection.ts';
import { Conversation, mismatch, readLine } from './conversation.ts';

/** Lines a server may send before its identification. RFC 4253 section 4.2 sets no number. */
const MAX_LINES = 50;

/** `ssh`: the identification line of the server, RFC 4253 section 4.2; then ours, so that its log names us. */
export function sshCheck(): Probe {
  return {
    run: (target, options, deps) =>
      attempt(options.timeoutMs, deps, async (run) => {
        const line = new Conversation(run, await connect(run, target, { ...options, tls: null }));
        const identification = await identify(line);
        line.send('SSH-2.0-holdfast_health\r\n', 'our identification');
        line.leave('fin');
        return { detail: `it is ${JSON.stringify(identification.slice(0, 80))}` };
      }),
  };
}

async function identify(line: Conversation): Promise<string> {
  for (let count = 0; count < MAX_LINES; count += 1) {
    const text = await line.receive('SSH identification', readLine);
    if (/^SSH-(?:2\.0|1\.99)-/.test(text)) return text;
    if (text.startsWith('SSH-')) throw mismatch(`it speaks another version: ${JSON.stringify(text.slice(0, 80))}`);
  }
  throw mismatch(`no SSH identification in ${MAX_LINES} lines`);
}
