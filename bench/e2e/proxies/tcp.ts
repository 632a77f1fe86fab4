/** The same relay of TCP connections in two programs: affinity by source address, health checks every second. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeConfig } from '../bench.ts';
import { installed } from '../processes.ts';
import type { ProxyKind } from './proxy.ts';

export const haproxyTcp: ProxyKind = {
  name: 'haproxy',
  missing: () => (installed('haproxy') ? '' : 'haproxy is not installed'),
  plan(bench, port, _adminPort, backends) {
    const servers = backends.map((backend, at) => `  server s${at} 127.0.0.1:${backend} check inter 1s`).join('\n');
    const text = `global
  maxconn 8192
  nbthread 1
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
frontend in
  bind 127.0.0.1:${port} backlog 4096
  default_backend backends
backend backends
  balance source
${servers}
`;
    const path = writeConfig(bench, `haproxy-tcp-${port}.cfg`, text);
    return { command: 'haproxy', args: ['-db', '-f', path], cores: bench.proxyCores };
  },
};

/** Compiled, started as a program, one worker. */
export function holdfastTcp(name: string, root: string): ProxyKind {
  const entry = join(root, 'dist', 'cli', 'main.js');
  return {
    name,
    missing: () => (existsSync(entry) ? '' : `${entry} does not exist: run npm run build`),
    plan(bench, port, adminPort, backends) {
      const text = `{
	admin localhost:${adminPort}
	layer4 {
		127.0.0.1:${port} {
			route {
				proxy ${backends.map((backend) => `127.0.0.1:${backend}`).join(' ')} {
					lb_policy ip_hash
					health_interval 1s
				}
			}
		}
	}
}
`;
      const path = writeConfig(bench, `${name}-tcp-${port}.Caddyfile`, text);
      return {
        command: process.execPath,
        args: [entry, 'run', '--config', path, '--adapter', 'caddyfile', '--workers', '1'],
        env: { XDG_DATA_HOME: join(bench.folder, `${name}-data`) },
        cores: bench.proxyCores,
      };
    },
  };
}
