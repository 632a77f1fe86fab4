import { createInterface } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { CliError } from './failure.ts';

/** From a terminal: asked for twice and not shown. Otherwise the first line of `stdin`. */
export async function readPassword(stdin: ReadStream, prompts: NodeJS.WritableStream): Promise<string> {
  if (!stdin.isTTY) return await readLine(stdin, false);
  const password = await ask(stdin, prompts, 'Enter password: ');
  if ((await ask(stdin, prompts, 'Confirm password: ')) === password) return password;
  throw new CliError('the passwords are not the same: try again');
}

async function ask(stdin: ReadStream, prompts: NodeJS.WritableStream, question: string): Promise<string> {
  prompts.write(question);
  const line = await readLine(stdin, true);
  prompts.write('\n');
  return line;
}

/** Without an output nothing is shown. Ctrl-C and the end of the input give up. */
function readLine(stdin: ReadStream, isTerminal: boolean): Promise<string> {
  const lines = createInterface({ input: stdin, terminal: isTerminal });
  return new Promise((resolve, reject) => {
    let line: string | null = null;
    lines.on('line', (text) => {
      line ??= text;
      lines.close();
    });
    lines.on('SIGINT', () => lines.close());
    lines.on('close', () => {
      if (line === null) reject(new CliError('no password was given'));
      else resolve(line);
    });
  });
}
