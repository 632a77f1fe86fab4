/** DNS-01 through a program of the operator's, which knows how to change a zone. */
import { execFile } from 'node:child_process';
import type { DnsHookSpec } from '../../compile/managed-specs.ts';
import type { Proof } from './client.ts';

/** Providers of DNS take their time. */
const HOOK_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 65_536;

/** Sets the record; the result removes it again. Rejects when the program fails. */
export async function presentRecord(
  { program, propagationDelayMs }: DnsHookSpec,
  { name, keyAuthorization: value }: Proof,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const record = `_acme-challenge.${name}`;
  const remove = (): Promise<void> => runHook(program, ['cleanup', record, value], undefined);
  await runHook(program, ['present', record, value], signal);
  try {
    await sleep(propagationDelayMs, signal);
  } catch (error) {
    await remove();
    throw error;
  }
  return remove;
}

function runHook(program: string, args: readonly string[], signal: AbortSignal | undefined): Promise<void> {
  const options = {
    timeout: HOOK_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
    ...(signal === undefined ? {} : { signal }),
  };
  return new Promise((resolve, reject) => {
    execFile(program, [...args], options, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      const said = stderr.trim().split('\n').at(-1) ?? '';
      const why = said === '' ? error.message.split('\n')[0]! : said;
      reject(new Error(`the DNS hook ${program} ${args[0]} ${args[1]} failed: ${why}`, { cause: error }));
    });
  });
}

/** Rejects when the signal comes first. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(new Error('the order was given up'));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
