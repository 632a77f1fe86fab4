/** A failure the command foresaw: one line for the user, and the exit code. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

/**
 * The text for stderr: one line, `holdfast: …`. With HOLDFAST_DEBUG set, the stack follows.
 */
export function failureText(error: unknown, env: NodeJS.ProcessEnv): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = `holdfast: ${message.trim().replace(/\s*\n\s*/g, '; ')}\n`;
  if (!env['HOLDFAST_DEBUG']) return line;
  return `${line}${error instanceof Error ? (error.stack ?? '') : ''}\n`;
}

export function exitCodeOf(error: unknown): number {
  return error instanceof CliError ? error.exitCode : 1;
}
