import { attempt } from '../attempt.ts';
import type { Probe } from '../probe.ts';
import type { SmtpProbeSpec } from '../probe-spec.ts';
import { connect } from './connection.ts';
import { Conversation, mismatch, readLine } from './conversation.ts';

/** `smtp`: the greeting (never a word before it), EHLO if asked to, QUIT. RFC 5321 sections 3.1 and 4.2. */
export function smtpCheck(spec: SmtpProbeSpec): Probe {
  return {
    run: (target, options, deps) =>
      attempt(options.timeoutMs, deps, async (run) => {
        const line = new Conversation(run, await connect(run, target, { ...options, tls: null }));
        const greeting = await reply(line, 'greeting', 220);
        if (spec.ehlo !== '') {
          line.send(`EHLO ${spec.ehlo}\r\n`, 'EHLO');
          await reply(line, 'answer to EHLO', 250);
        }
        line.send('QUIT\r\n', 'QUIT');
        line.leave('fin');
        return { detail: `greeted ${JSON.stringify(greeting.slice(0, 80))}` };
      }),
  };
}

/** The last line of a reply, which may have several: `250-…` goes on, `250 …` ends it. */
async function reply(line: Conversation, what: string, code: number): Promise<string> {
  for (;;) {
    const text = await line.receive(what, readLine);
    if (!/^[2-5]\d\d(?:[ -]|$)/.test(text)) throw mismatch(`the ${what} is ${JSON.stringify(text.slice(0, 80))}`);
    if (!text.startsWith(String(code))) {
      throw mismatch(`the ${what} is ${JSON.stringify(text.slice(0, 80))}, expected ${code}`);
    }
    if (text[3] !== '-') return text;
  }
}
