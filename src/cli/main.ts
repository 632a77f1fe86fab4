/** Entry of the command line: exit code 0 done, 1 failed, 2 bad usage. */
import { CommanderError } from 'commander';
import { exitCodeOf, failureText } from './failure.ts';
import { createProgram } from './program.ts';

try {
  await createProgram(process).parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}

function report(error: unknown): number {
  // Commander has told its own faults already; help and version end this way too, with code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  process.stderr.write(failureText(error, process.env));
  return exitCodeOf(error);
}
