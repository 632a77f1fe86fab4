import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeConfig } from '../bench.ts';
import type { ProxyKind } from './proxy.ts';

/**
 * Holdfast as it is published: compiled, started as a program, its metrics and admin endpoint on. As many
 * idle upstream connections as the others may keep.
 */
export function holdfast(name: string, root: string, workers = 1): ProxyKind {
  const entry = join(root, 'dist', 'cli', 'main.js');
  return {
    name,
    missing: () => (existsSync(entry) ? '' : `${entry} does not exist: run npm run build`),
    plan(bench, port, adminPort, backends) {
      const text = `{
	admin localhost:${adminPort}
	metrics
}
http://:${port} {
	bind 127.0.0.1
	reverse_proxy ${backends.map((backend) => `127.0.0.1:${backend}`).join(' ')} {
		lb_policy ip_hash
		health_uri /health
		health_interval 1s
	}
}
`;
      const path = writeConfig(bench, `${name}-${port}.Caddyfile`, text);
      return {
        command: process.execPath,
        args: [entry, 'run', '--config', path, '--adapter', 'caddyfile', '--workers', String(workers)],
        env: { XDG_DATA_HOME: join(bench.folder, `${name}-data`) },
        cores: bench.proxyCores,
      };
    },
  };
}
