/** TLS at layer 4 between programs of others: nginx and HAProxy as servers and as clients, with PROXY headers. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { TestAuthority } from '../support/certificates.ts';
import { layer4 } from '../support/layer4-site.ts';
import { startLayer4Tls } from '../support/layer4-tls.ts';
import { findProgram, freePort, startServer, temporaryFolder, unlessInstalled } from '../support/program.ts';
import { get } from '../support/raw-client.ts';
import { getTls } from '../support/tls-client.ts';

const NGINX = findProgram('nginx');
const HAPROXY = findProgram('haproxy');

async function startHaproxy(t: TestContext, port: number, body: string): Promise<void> {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'haproxy.cfg');
  const times = 'timeout connect 5s\n  timeout client 30s\n  timeout server 30s';
  writeFileSync(file, `global\n  maxconn 100\ndefaults\n  ${times}\n${body}\n`);
  await startServer(t, HAPROXY!, ['-db', '-f', file], port);
}

test(
  'HAProxy behind it over TLS, told of the client and its TLS by a PROXY header',
  { skip: unlessInstalled(HAPROXY, 'haproxy') },
  async (t) => {
    const authority = await TestAuthority.create(t);
    const leaf = await authority.leaf('server', ['localhost']);
    const pem = join(authority.folder, 'both.pem');
    writeFileSync(pem, leaf.certificate + leaf.key);
    const port = await freePort();
    const answer = '"%[src] %[ssl_fc_sni] %[fc_pp_authority]"';
    await startHaproxy(
      t,
      port,
      `frontend in\n  mode http\n  bind 127.0.0.1:${port} accept-proxy ssl crt ${pem}\n` +
        `  http-request return status 200 content-type text/plain lf-string ${answer}`,
    );
    const upstream = `upstream localhost:${port} {\ntls_trust_pool file ${authority.rootFile}\n}`;
    const body = `@web tls sni web.localhost\nroute @web {\ntls\nproxy {\n${upstream}\nproxy_protocol v2 {\nauthority\nssl\ncrc32c\n}\n}\n}`;
    const front = await startLayer4Tls(t, body);
    const answered = await getTls(front.port, { servername: 'web.localhost', ca: front.root });
    assert.equal(answered.status, 200);
    assert.equal(answered.body, '127.0.0.1 localhost web.localhost');
  },
);

test(
  'HAProxy in front of it, which speaks TLS and checks the certificate',
  { skip: unlessInstalled(HAPROXY, 'haproxy') },
  async (t) => {
    const backend = await startBackend(t, 'inside');
    const body = `@web tls sni web.localhost\nroute @web {\ntls\nproxy 127.0.0.1:${backend.port}\n}`;
    const front = await startLayer4Tls(t, body);
    const ca = join(await temporaryFolder(t), 'root.pem');
    writeFileSync(ca, front.root);
    const port = await freePort();
    const checks = `ssl verify required ca-file ${ca} sni str(web.localhost) verifyhost web.localhost`;
    await startHaproxy(
      t,
      port,
      `listen in\n  mode tcp\n  bind 127.0.0.1:${port}\n  server a 127.0.0.1:${front.port} ${checks}`,
    );
    for (let nth = 0; nth < 5; nth += 1) assert.equal((await get(port)).body, 'inside');
  },
);

test('nginx behind it asks for a client certificate', { skip: unlessInstalled(NGINX, 'nginx') }, async (t) => {
  const authority = await TestAuthority.create(t);
  const [leaf, own] = [await authority.leaf('server', ['localhost']), await authority.leaf('own', ['lb.test'])];
  const port = await freePort();
  const folder = await temporaryFolder(t);
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 64; }
http {
  access_log off; client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
  uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  server {
    listen 127.0.0.1:${port} ssl; ssl_certificate ${leaf.certificateFile}; ssl_certificate_key ${leaf.keyFile};
    ssl_protocols TLSv1.3; ssl_client_certificate ${authority.rootFile}; ssl_verify_client on;
    location / { return 200 "$ssl_client_s_dn $ssl_protocol"; }
  }
}
`,
  );
  await startServer(t, NGINX!, ['-p', folder, '-c', join(folder, 'nginx.conf')], port);
  const tls = `tls_trust_pool file ${authority.rootFile}\ntls_client_auth ${own.certificateFile} ${own.keyFile}`;
  const config = layer4(`route {\nproxy {\nupstream localhost:${port} {\n${tls}\n}\n}\n}`);
  const balancer = await startBalancer(t, config);
  assert.equal((await get(balancer.port)).body, 'CN=lb.test TLSv1.3');
});
