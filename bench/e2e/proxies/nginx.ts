import { writeConfig } from '../bench.ts';
import { nginxConfig } from '../nginx-base.ts';
import { installed } from '../processes.ts';
import type { ProxyKind } from './proxy.ts';

/** nginx without the commercial parts has no active health checks; it counts failures (max_fails). */
export const nginx: ProxyKind = {
  name: 'nginx',
  missing: () => (installed('nginx') ? '' : 'nginx is not installed'),
  plan(bench, port, _adminPort, backends) {
    const servers = backends.map((backend) => `    server 127.0.0.1:${backend};`).join('\n');
    const text = nginxConfig(
      bench.folder,
      'proxy',
      `  upstream backends {
    ip_hash;
${servers}
    keepalive 1024;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
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
    const path = writeConfig(bench, `nginx-${port}.conf`, text);
    return { command: 'nginx', args: ['-c', path, '-e', `${bench.folder}/proxy.log`], cores: bench.proxyCores };
  },
};
