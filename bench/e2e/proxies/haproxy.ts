import { writeConfig } from '../bench.ts';
import { installed } from '../processes.ts';
import type { ProxyKind } from './proxy.ts';

export const haproxy: ProxyKind = {
  name: 'haproxy',
  missing: () => (installed('haproxy') ? '' : 'haproxy is not installed'),
  plan(bench, port, _adminPort, backends) {
    const servers = backends.map((backend, at) => `  server s${at} 127.0.0.1:${backend} check inter 1s`).join('\n');
    const text = `global
  maxconn 8192
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  timeout http-keep-alive 1h
  http-reuse always
frontend in
  bind 127.0.0.1:${port} backlog 4096
  option forwardfor
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Host %[req.hdr(Host)]
  default_backend backends
backend backends
  balance source
  option httpchk GET /health
${servers}
`;
    const path = writeConfig(bench, `haproxy-${port}.cfg`, text);
    return { command: 'haproxy', args: ['-db', '-f', path], cores: bench.proxyCores };
  },
};
