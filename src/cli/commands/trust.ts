import type { Command } from 'commander';
import { LOCAL_AUTHORITY } from '../../control-plane/config/schema/acme-issuer.ts';
import { dataFolder } from '../data-folder.ts';
import { CliError } from '../failure.ts';
import type { Terminal } from '../output.ts';
import { readRoot, type RootCertificate } from '../trust/root-certificate.ts';
import { installRoot, removeRoot } from '../trust/system-store.ts';

interface TrustOptions {
  readonly ca: string;
  readonly install?: boolean;
  readonly uninstall?: boolean;
}

/** `trust [--install | --uninstall]`: the root of the authority that signs for local names. */
export function addTrustCommand(program: Command, terminal: Terminal): void {
  program
    .command('trust')
    .description('show the root certificate of the local authority, or have this machine trust it')
    .option('--ca <name>', 'authority of the config', LOCAL_AUTHORITY)
    .option('--install', 'put it into the trust store of this machine')
    .option('--uninstall', 'take it out again')
    .action((options: TrustOptions) => {
      if (options.install === true && options.uninstall === true) {
        throw new CliError('write --install or --uninstall, not both', 2);
      }
      const root = readRoot(dataFolder(terminal.env), options.ca);
      terminal.stdout.write(rootText(root));
      if (options.install === true) terminal.stdout.write(installRoot(root));
      else if (options.uninstall === true) terminal.stdout.write(removeRoot(root));
    });
}

function rootText({ path, subject, fingerprint, validTo }: RootCertificate): string {
  return `root         ${path}\nsubject      ${subject}\nsha256       ${fingerprint}\nvalid until  ${validTo}\n`;
}
