import type { Command } from 'commander';
import { CliError } from '../failure.ts';
import type { Terminal } from '../output.ts';
import { readPassword } from '../read-password.ts';

interface HashPasswordOptions {
  readonly plaintext?: string;
  readonly algorithm: string;
}

/** `hash-password [--plaintext P] [--algorithm A]`: a password hash for `basic_auth`. Without `--plaintext` it is asked for. */
export function addHashPasswordCommand(program: Command, terminal: Terminal): void {
  program
    .command('hash-password')
    .description('make the password hash of an account for basic_auth')
    .option('-p, --plaintext <password>', 'the password; others can see it in the list of processes')
    .option('-a, --algorithm <name>', 'bcrypt or argon2id', 'bcrypt')
    .action(async ({ plaintext, algorithm }: HashPasswordOptions) => {
      if (algorithm !== 'bcrypt' && algorithm !== 'argon2id') {
        throw new CliError(`--algorithm must be bcrypt or argon2id, not '${algorithm}'`, 2);
      }
      const password = plaintext ?? (await readPassword(process.stdin, terminal.stderr));
      if (password === '') throw new CliError('the password is empty: give one');
      const { hashPassword } = await import('../../shared/passwords/password-hash.ts');
      terminal.stdout.write(`${hashPassword(password, algorithm)}\n`);
    });
}
