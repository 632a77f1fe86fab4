import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where generated secrets and authorities are kept: `$XDG_DATA_HOME/holdfast`, by default `~/.local/share/holdfast`. */
export function dataFolder(env: NodeJS.ProcessEnv): string {
  return join(env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'holdfast');
}
