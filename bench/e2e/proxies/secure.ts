/** The proxies of `run.ts` with TLS towards clients: one certificate (ECDSA, P-256), HTTP/1.1 and HTTP/2 by ALPN. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeConfig, type Bench } from '../bench.ts';
import { nginxConfig } from '../nginx-base.ts';
import { installed } from '../processes.ts';
import type { ProxyKind } from './proxy.ts';

const CERTIFICATE = 'bench.crt';
const KEY = 'bench.key';

/** Makes the certificate that all of them show. */
export async function makeCertificate(bench: Bench): Promise<void> {
  const files = ['-keyout', join(bench.folder, KEY), '-out', join(bench.folder, CERTIFICATE)];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const args = ['req', '-x509', '-days', '2', ...key, ...files, ...names];
  await bench.processes.run({ command: 'openssl', args, cores: bench.otherCores });
  // HAProxy wants both in one file.
  writeConfig(
    bench,
    'bench.pem',
    [CERTIFICATE, KEY].map((file) => readFileSync(join(bench.folder, file), 'utf8')).join(''),
  );
}

export const nginxSecure: ProxyKind = {
  name: 'nginx',
  missing: () => (installed('nginx') ? '' : 'nginx is not installed'),
  plan(bench, port, _adminPort, backends) {
    const servers = backends.map((backend) => `    server 127.0.0.1:${backend};`).join('\n');
    const text = nginxConfig(
      bench.folder,
      'secure',
      `  upstream backends {
    ip_hash;
${servers}
    keepalive 1024;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} ssl http2 backlog=4096;
    ssl_certificate ${bench.folder}/${CERTIFICATE};
    ssl_certificate_key ${bench.folder}/${KEY};
    ssl_protocols TLSv1.2 TLSv1.3;
    http2_max_concurrent_streams 250;
    location / {
      proxy_pass http://backends;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $http_host;
    }
  }`,
    );
    const path = writeConfig(bench, `nginx-secure-${port}.conf`, text);
    return { command: 'nginx', args: ['-c', path, '-e', `${bench.folder}/secure.log`], cores: bench.proxyCores };
  },
};

export const haproxySecure: ProxyKind = {
  name: 'haproxy',
  missing: () => (installed('haproxy') ? '' : 'haproxy is not installed'),
  plan(bench, port, _adminPort, backends) {
    const servers = backends.map((backend, at) => `  server s${at} 127.0.0.1:${backend} check inter 1s`).join('\n');
    const text = `global
  maxconn 8192
  nbthread 1
  ssl-default-bind-options ssl-min-ver TLSv1.2
defaults
  mode http
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  timeout http-keep-alive 1h
  http-reuse always
frontend in
  bind 127.0.0.1:${port} backlog 4096 ssl crt ${bench.folder}/bench.pem alpn h2,http/1.1
  option forwardfor
  http-request set-header X-Forwarded-Proto https
  http-request set-header X-Forwarded-Host %[req.hdr(Host)]
  default_backend backends
backend backends
  balance source
  option httpchk GET /health
${servers}
`;
    const path = writeConfig(bench, `haproxy-secure-${port}.cfg`, text);
    return { command: 'haproxy', args: ['-db', '-f', path], cores: bench.proxyCores };
  },
};

export const caddySecure: ProxyKind = {
  name: 'caddy',
  missing: () => (installed('caddy') ? '' : 'caddy is not installed'),
  plan(bench, port, _adminPort, backends) {
    const transport = 'keepalive_idle_conns 4096\n\t\t\tkeepalive_idle_conns_per_host 2048';
    const text = siteOf(bench, port, backends, 'admin off', `transport http {\n\t\t\t${transport}\n\t\t}`);
    const path = writeConfig(bench, `caddy-secure-${port}.Caddyfile`, text);
    return {
      command: 'caddy',
      args: ['run', '--config', path, '--adapter', 'caddyfile'],
      env: { HOME: bench.folder, XDG_DATA_HOME: bench.folder, XDG_CONFIG_HOME: bench.folder },
      cores: bench.proxyCores,
    };
  },
};

/** Compiled, started as a program, one worker. */
export function holdfastSecure(name: string, root: string): ProxyKind {
  const entry = join(root, 'dist', 'cli', 'main.js');
  return {
    name,
    missing: () => (existsSync(entry) ? '' : `${entry} does not exist: run npm run build`),
    plan(bench, port, adminPort, backends) {
      const text = siteOf(bench, port, backends, `admin localhost:${adminPort}\n\tmetrics`, '');
      const path = writeConfig(bench, `${name}-secure-${port}.Caddyfile`, text);
      return {
        command: process.execPath,
        args: [entry, 'run', '--config', path, '--adapter', 'caddyfile', '--workers', '1'],
        env: { XDG_DATA_HOME: join(bench.folder, `${name}-data`) },
        cores: bench.proxyCores,
      };
    },
  };
}

/** A Caddyfile for clients with and without SNI. */
function siteOf(bench: Bench, port: number, backends: readonly number[], options: string, transport: string): string {
  return `{
	${options}
	auto_https disable_redirects
}
https://127.0.0.1:${port}, https://localhost:${port} {
	bind 127.0.0.1
	tls ${bench.folder}/${CERTIFICATE} ${bench.folder}/${KEY}
	reverse_proxy ${backends.map((backend) => `127.0.0.1:${backend}`).join(' ')} {
		lb_policy ip_hash
		health_uri /health
		health_interval 1s
		${transport}
	}
}
`;
}
