import { Command } from 'commander';
import { packageVersion } from '../version.ts';
import { addAdaptCommand } from './commands/adapt.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addHashCommand } from './commands/hash.ts';
import { addReloadCommand } from './commands/reload.ts';
import { addRunCommand } from './commands/run.ts';
import { addStopCommand } from './commands/stop.ts';
import { addValidateCommand } from './commands/validate.ts';
import { addVersionCommand } from './commands/version.ts';
import type { Terminal } from './output.ts';

/** The whole command line. Faults of usage become a `CommanderError` instead of ending the process. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command('holdfast')
    .description('A load balancer for HTTP that keeps clients on their server.')
    .version(`v${packageVersion()}`, '-V, --version', 'print the version')
    .helpCommand('help [command]', 'show help of a command')
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
  addHashCommand(program, terminal);
  addDemoCommand(program, terminal);
  addVersionCommand(program, terminal);
  return program;
}
