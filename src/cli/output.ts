import type { ConfigWarning } from '../control-plane/compile/compiled.ts';

/** Where a command reads and writes: the process's own streams, except in tests. */
export interface Terminal {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  readonly env: NodeJS.ProcessEnv;
}

/** Prints warnings to stderr, one a line. */
export function printWarnings(terminal: Terminal, warnings: readonly ConfigWarning[]): void {
  for (const warning of warnings) terminal.stderr.write(`${warningText(warning)}\n`);
}

function warningText({ file, line, directive, message }: ConfigWarning): string {
  const place = line > 0 ? `${file}:${line}: ` : '';
  return `warning: ${place}${directive === '' ? '' : `${directive}: `}${message}`;
}
