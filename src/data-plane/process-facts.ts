/** What `{env.…}` and `{system.…}` placeholders are about, read once when a worker starts. */
import { hostname } from 'node:os';
import { sep } from 'node:path';
import type { ProcessFacts } from './route/placeholder/placeholder.ts';

/** Go's names of architectures, as Caddyfiles know them. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

export function readProcessFacts(env: NodeJS.ProcessEnv = process.env): ProcessFacts {
  return {
    env: { ...env },
    system: {
      hostname: hostname(),
      os: process.platform === 'win32' ? 'windows' : process.platform,
      arch: ARCHITECTURES[process.arch] ?? process.arch,
      workingDirectory: process.cwd(),
      slash: sep,
    },
  };
}
