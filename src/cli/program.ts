import { Command, CommanderError } from 'commander';
import { packageVersion } from '../version.ts';
import { addAdaptCommand } from './commands/adapt.ts';
import { addCheckCommand } from './commands/check.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addExplainCommand } from './commands/explain.ts';
import { addFmtCommand } from './commands/fmt.ts';
import { addHashPasswordCommand } from './commands/hash-password.ts';
import { addHashCommand } from './commands/hash.ts';
import { addReloadCommand } from './commands/reload.ts';
import { addRunCommand } from './commands/run.ts';
import { addSimulateCommand } from './commands/simulate.ts';
import { addStopCommand } from './commands/stop.ts';
import { addTrustCommand } from './commands/trust.ts';
import { addValidateCommand } from './commands/validate.ts';
import { addVersionCommand } from './commands/version.ts';
import { exitCodeOf, failureText } from './failure.ts';
import type { Terminal } from './output.ts';

/**
 * Runs a command line; `args` without node and script. Resolves with the exit code: 0 done, 1 failed,
 * 2 bad usage. Failures are one line on stderr.
 */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await createProgram(terminal).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has told its own faults already; help and version end this way too, with code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    terminal.stderr.write(failureText(error, terminal.env));
    return exitCodeOf(error);
  }
}

/** Faults of usage become a `CommanderError` instead of ending the process. */
function createProgram(terminal: Terminal): Command {
  const program = new Command('holdfast')
    .description('A load balancer for HTTP, TCP and UDP that keeps clients on their server.')
    .version(`v${packageVersion()}`, '-V, --version', 'print the version')
    .helpCommand('help [command]', 'show help of a command')
    // `check http … --version 1.1` is about HTTP.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      writeErr: (text) => void terminal.stderr.write(text.replace(/^error: /, 'holdfast: ')),
    })
    .exitOverride();
  addRunCommand(program, terminal);
  addAdaptCommand(program, terminal);
  addValidateCommand(program, terminal);
  addReloadCommand(program, terminal);
  addStopCommand(program);
  addFmtCommand(program, terminal);
  addHashCommand(program, terminal);
  addHashPasswordCommand(program, terminal);
  addExplainCommand(program, terminal);
  addSimulateCommand(program, terminal);
  addCheckCommand(program, terminal);
  addDemoCommand(program, terminal);
  addTrustCommand(program, terminal);
  addVersionCommand(program, terminal);
  return program;
}
