/** The admin endpoint. */
import { isIP } from 'node:net';
import type { AdminConfig } from '../config/schema/admin.ts';
import type { Compilation } from './compilation.ts';
import type { AdminSpec } from './compiled.ts';
import { readSingleListener } from './listeners.ts';
import { isUnixAddress, readUnixSocket } from './unix-socket.ts';

export function compileAdmin(run: Compilation, config: AdminConfig): AdminSpec {
  const { origins, enforce_origin: enforceOrigin } = config;
  const enabled = !config.disabled;
  if (isUnixAddress(config.listen)) {
    const unix = readUnixSocket(run, 'admin.listen', config.listen);
    return { enabled, unix, host: '', port: 0, origins, enforceOrigin };
  }
  const { host, port } = readSingleListener(run, 'admin.listen', config.listen);
  if (!config.disabled && !isLoopback(host) && config.origins.length === 0) {
    run.warn(
      'admin',
      'admin',
      `the admin endpoint ${config.listen} can be reached from other machines and asks for no password: ` +
        'whoever reaches it can replace the config. Listen on localhost:2019, or list the allowed origins',
    );
  }
  return { enabled, host, port, origins, enforceOrigin };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
