import { writeConfig } from '../bench.ts';
import { installed } from '../processes.ts';
import type { ProxyKind } from './proxy.ts';

/** Idle connections per host are raised from 32: with more clients than that Caddy would dial all the time. */
export const caddy: ProxyKind = {
  name: 'caddy',
  missing: () => (installed('caddy') ? '' : 'caddy is not installed'),
  plan(bench, port, _adminPort, backends) {
    const text = `{
	admin off
	auto_https off
}
http://:${port} {
	bind 127.0.0.1
	reverse_proxy ${backends.map((backend) => `127.0.0.1:${backend}`).join(' ')} {
		lb_policy ip_hash
		health_uri /health
		health_interval 1s
		transport http {
			keepalive_idle_conns 4096
			keepalive_idle_conns_per_host 2048
		}
	}
}
`;
    const path = writeConfig(bench, `caddy-${port}.Caddyfile`, text);
    return {
      command: 'caddy',
      args: ['run', '--config', path, '--adapter', 'caddyfile'],
      env: { HOME: bench.folder, XDG_DATA_HOME: bench.folder, XDG_CONFIG_HOME: bench.folder },
      cores: bench.proxyCores,
    };
  },
};
