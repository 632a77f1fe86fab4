import type { ConfigWarning } from '../control-plane/compile/compiled.ts';
import type { Logger } from '../shared/log.ts';

/** Where a command reads and writes: the process's own streams, except in tests. */
export interface Terminal {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  readonly env: NodeJS.ProcessEnv;
}

/** Prints warnings to stderr, one a line. */
export function printWarnings(terminal: Terminal, warnings: readonly ConfigWarning[]): void {
  for (const warning of warnings) terminal.stderr.write(`warning: ${placedText(warning)}\n`);
}

/** The same as log lines, for a process whose stderr is a log. */
export function logWarnings(log: Logger, warnings: readonly ConfigWarning[]): void {
  for (const warning of warnings) log.warn(placedText(warning), { event: 'config-warning' });
}

/** `<file>:<line>: <directive>: <text>`. */
function placedText({ file, line, directive, message }: ConfigWarning): string {
  const place = line > 0 ? `${file}:${line}: ` : '';
  return `${place}${directive === '' ? '' : `${directive}: `}${message}`;
}
