import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  nginx: ['/usr/sbin/nginx', '-v'],
  haproxy: ['/usr/sbin/haproxy', '-v'],
  caddy: ['/usr/bin/caddy', 'version'],
};

/** Versions of what is measured, as far as it is installed where Debian puts it. */
export function readVersions(): Record<string, string> {
  const versions: Record<string, string> = { node: process.versions.node };
  for (const [name, [command = '', ...args]] of Object.entries(QUESTIONS)) {
    if (!existsSync(command)) continue;
    const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
    const version = /\d+\.\d+[\w.+~-]*/.exec(`${stdout}${stderr}`)?.[0];
    if (version !== undefined) versions[name] = version;
  }
  return versions;
}
