/** What the two nginx processes of a run, backend and proxy, have in common. Everything stays in the run's folder. */
export function nginxConfig(folder: string, name: string, http: string): string {
  return `daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${folder}/${name}.pid;
error_log ${folder}/${name}.log;
events { worker_connections 16384; }
http {
  access_log off;
  default_type text/plain;
  keepalive_timeout 3600s;
  keepalive_requests 1000000000;
  client_body_temp_path ${folder}/${name}-body;
  proxy_temp_path ${folder}/${name}-proxy;
  fastcgi_temp_path ${folder}/${name}-fastcgi;
  uwsgi_temp_path ${folder}/${name}-uwsgi;
  scgi_temp_path ${folder}/${name}-scgi;
${http}
}
`;
}
