/** The same UDP proxy in two programs: affinity by source address, sessions that end after a minute of silence. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeConfig } from '../bench.ts';
import { installed } from '../processes.ts';
import type { ProxyKind } from './proxy.ts';

/** Debian builds it as a module of its own. */
const STREAM_MODULE = '/usr/lib/nginx/modules/ngx_stream_module.so';

export const nginxUdp: ProxyKind = {
  name: 'nginx',
  missing: () => (installed('nginx') ? '' : 'nginx is not installed'),
  plan(bench, port, _adminPort, backends) {
    const servers = backends.map((backend) => `    server 127.0.0.1:${backend};`).join('\n');
    const load = existsSync(STREAM_MODULE) ? `load_module ${STREAM_MODULE};\n` : '';
    const text = `${load}daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${bench.folder}/udp.pid;
error_log ${bench.folder}/udp.log;
events { worker_connections 16384; }
stream {
  upstream backends {
    hash $remote_addr;
${servers}
  }
  server {
    listen 127.0.0.1:${port} udp rcvbuf=4m;
    proxy_timeout 60s;
    proxy_pass backends;
  }
}
`;
    const path = writeConfig(bench, `nginx-udp-${port}.conf`, text);
    return { command: 'nginx', args: ['-c', path, '-e', `${bench.folder}/udp.log`], cores: bench.proxyCores };
  },
};

/** Compiled, started as a program, one worker. */
export function holdfastUdp(name: string, root: string): ProxyKind {
  const entry = join(root, 'dist', 'cli', 'main.js');
  return {
    name,
    missing: () => (existsSync(entry) ? '' : `${entry} does not exist: run npm run build`),
    plan(bench, port, adminPort, backends) {
      const text = `{
	admin localhost:${adminPort}
	layer4 {
		udp/127.0.0.1:${port} {
			idle_timeout 60s
			route {
				proxy ${backends.map((backend) => `udp/127.0.0.1:${backend}`).join(' ')} {
					lb_policy ip_hash
				}
			}
		}
	}
}
`;
      const path = writeConfig(bench, `${name}-udp-${port}.Caddyfile`, text);
      return {
        command: process.execPath,
        args: [entry, 'run', '--config', path, '--adapter', 'caddyfile', '--workers', '1'],
        env: { XDG_DATA_HOME: join(bench.folder, `${name}-data`) },
        cores: bench.proxyCores,
      };
    },
  };
}
