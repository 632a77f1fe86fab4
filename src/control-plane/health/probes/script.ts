/** Sends and expectations as written in the config. */
import { RE2JS } from 're2js';
import type { ScriptStep } from '../probe-spec.ts';
import { type Conversation, shownBytes } from './conversation.ts';

/** Where in some bytes an expectation is met: the end of the match, −1 = nowhere. */
export type Expectation = (bytes: Buffer) => number;

type CompiledStep = { readonly send: Buffer } | { readonly expect: Expectation; readonly text: string };

export function compileScript(script: readonly ScriptStep[]): readonly CompiledStep[] {
  return script.map((step) => {
    if (step.step === 'send') return { send: Buffer.from(step.bytes, 'latin1') };
    return { expect: compileExpectation(step), text: describeExpectation(step) };
  });
}

export function compileExpectation(step: Exclude<ScriptStep, { step: 'send' }>): Expectation {
  if (step.step === 'expect') {
    const wanted = Buffer.from(step.bytes, 'latin1');
    return (bytes) => {
      const at = bytes.indexOf(wanted);
      return at < 0 ? -1 : at + wanted.length;
    };
  }
  const pattern = RE2JS.compile(step.pattern);
  return (bytes) => {
    const matcher = pattern.matcher(bytes.toString('latin1'));
    return matcher.find() ? matcher.end() : -1;
  };
}

export function describeExpectation(step: Exclude<ScriptStep, { step: 'send' }>): string {
  return step.step === 'expect'
    ? shownBytes(Buffer.from(step.bytes, 'latin1'))
    : `match of ${JSON.stringify(step.pattern)}`;
}

/**
 * Each expectation begins where the last one was met, or at what came after the last `send`: the rest of a greeting
 * is not the answer to a question. Resolves with what was seen.
 */
export async function play(line: Conversation, script: readonly CompiledStep[]): Promise<string> {
  let seen = '';
  for (const step of script) {
    if ('send' in step) {
      line.forget();
      line.send(step.send, 'as configured');
      continue;
    }
    seen = await line.receive(step.text, (bytes) => {
      const taken = step.expect(bytes);
      return taken < 0 ? undefined : { value: `answered ${shownBytes(bytes.subarray(0, taken))}`, taken };
    });
  }
  return seen;
}
