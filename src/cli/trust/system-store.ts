import { execFileSync } from 'node:child_process';
import { accessSync, constants, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliError } from '../failure.ts';
import type { RootCertificate } from './root-certificate.ts';

/** Where a system keeps authorities of its own, and what has to be run when they change. */
export interface SystemStore {
  readonly folder: string;
  /** Of `update-ca-certificates`. */
  readonly args: readonly string[];
}

/** Debian, Ubuntu, Alpine. */
const DEBIAN: SystemStore = Object.freeze({ folder: '/usr/local/share/ca-certificates', args: Object.freeze([]) });
const PROGRAM = 'update-ca-certificates';
const FOLDERS_OF_PROGRAMS: readonly string[] = Object.freeze(['/usr/sbin', '/sbin', '/usr/bin']);

/** Returns what was done. Throws a `CliError` that says what to do by hand where it cannot be done. */
export function installRoot(root: RootCertificate, store: SystemStore = DEBIAN): string {
  const program = findProgram(root);
  try {
    writeFileSync(fileOf(root, store), root.pem, { mode: 0o644 });
  } catch (error) {
    throw notAllowed(error);
  }
  run(program, store);
  return `installed    ${fileOf(root, store)}\n${BROWSERS}`;
}

/** Returns what was done; a root that is not installed is no fault. */
export function removeRoot(root: RootCertificate, store: SystemStore = DEBIAN): string {
  const program = findProgram(root);
  try {
    rmSync(fileOf(root, store), { force: true });
  } catch (error) {
    throw notAllowed(error);
  }
  // Without it the link to the file stays in the store, pointing nowhere.
  run(program, { ...store, args: [...store.args, '--fresh'] });
  return `removed      ${fileOf(root, store)}\n`;
}

const BROWSERS = 'Firefox, and Chromium on Linux, have stores of their own: import the root in their settings.\n';

function fileOf({ authority }: RootCertificate, { folder }: SystemStore): string {
  return join(folder, `holdfast-${authority}.crt`);
}

function findProgram({ path }: RootCertificate): string {
  const found = FOLDERS_OF_PROGRAMS.map((folder) => join(folder, PROGRAM)).find(isExecutable);
  if (found !== undefined) return found;
  throw new CliError(
    `this system has no ${PROGRAM}: import ${path} by hand (macOS: Keychain Access; Windows: certutil -addstore Root; ` +
      'Fedora: /etc/pki/ca-trust/source/anchors and update-ca-trust)',
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function run(program: string, { args }: SystemStore): void {
  try {
    execFileSync(program, args, { stdio: 'pipe' });
  } catch (error) {
    throw new CliError(`${program} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function notAllowed(error: unknown): CliError {
  const why = error instanceof Error ? error.message : String(error);
  return new CliError(`${why}: run it as root, with XDG_DATA_HOME of the user that runs holdfast`);
}
