import { writeConfig, type Bench } from '../bench.ts';
import { nginxConfig } from '../nginx-base.ts';
import type { SpawnPlan } from '../processes.ts';
import { BODY } from './answers.ts';

const ECHO =
  '{"port":"$server_port","host":"$http_host","for":"$http_x_forwarded_for",' +
  '"proto":"$http_x_forwarded_proto","forwardedHost":"$http_x_forwarded_host"}';

export function nginxBackendPlan(bench: Bench, ports: readonly number[]): SpawnPlan {
  const listens = ports.map((port) => `    listen 127.0.0.1:${port} backlog=4096;`).join('\n');
  const text = nginxConfig(
    bench.folder,
    'backend',
    `  server {
${listens}
    location / { return 200 "${BODY}"; }
    location /health { return 200 "ok"; }
    location /echo { return 200 '${ECHO}'; }
  }`,
  );
  const path = writeConfig(bench, 'backend.conf', text);
  return { command: 'nginx', args: ['-c', path, '-e', `${bench.folder}/backend.log`], cores: bench.otherCores };
}
