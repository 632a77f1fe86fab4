/** Servers that people run behind a balancer, over TLS and HTTP/2: nginx, Caddy, gRPC. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect } from 'node:tls';
import { Server, ServerCredentials, status, type ServerWritableStream, type sendUnaryData } from '@grpc/grpc-js';
import { makeAuthority, type Leaf } from '../support/authority.ts';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { eventually } from '../support/backend.ts';
import { findProgram, freePort, startProgram, unlessInstalled } from '../support/program.ts';
import { get, openClient } from '../support/raw-client.ts';

const NGINX = findProgram('nginx');
const CADDY = findProgram('caddy');
const BIG = Buffer.alloc(3 * 1024 * 1024, 'abcdefghij');

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-peer-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Until a handshake with the server succeeds. */
async function reachable(port: number): Promise<void> {
  const tryOnce = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false });
      socket.on('secureConnect', () => (socket.destroy(), resolve(true)));
      socket.on('error', () => resolve(false));
    });
  await eventually(tryOnce, `port ${port}`);
}

function front(t: TestContext, port: number, rootFile: string, versions: string): Promise<TestBalancer> {
  const transport = `transport http {\ntls_trust_pool file ${rootFile}\nversions ${versions}\n}`;
  return startBalancer(t, site(`reverse_proxy https://localhost:${port} {\n${transport}\n}`));
}

async function startNginx(t: TestContext, leaf: Leaf, ca: string): Promise<number> {
  const folder = folderOf(t);
  const port = await freePort();
  writeFileSync(join(folder, 'big.bin'), BIG);
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 64; }
http {
  access_log off; client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
  uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  server {
    listen 127.0.0.1:${port} ssl http2; ssl_certificate ${leaf.certFile}; ssl_certificate_key ${leaf.keyFile};
    ssl_client_certificate ${ca}; ssl_verify_client optional; root ${folder}; keepalive_requests 20;
    location /say { return 200 "$server_protocol $http_host $ssl_server_name $ssl_client_verify\\n"; }
  }
}
`,
  );
  startProgram(t, NGINX!, ['-p', folder, '-c', join(folder, 'nginx.conf')]);
  await reachable(port);
  return port;
}

test(
  'nginx, in both versions, with 100 requests over connections that it ends every 20',
  {
    skip: unlessInstalled(NGINX, 'nginx'),
  },
  async (t) => {
    const authority = await makeAuthority(t);
    const port = await startNginx(t, await authority.issue(['localhost']), authority.rootFile);
    for (const [versions, protocol] of [
      ['1.1', 'HTTP/1.1'],
      ['2', 'HTTP/2.0'],
      ['1.1 2', 'HTTP/2.0'],
    ] as const) {
      const balancer = await front(t, port, authority.rootFile, versions);
      const answers = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const client = await openClient(balancer.port);
          const bodies: string[] = [];
          for (let count = 0; count < 20; count += 1) {
            const response = await client.send('GET /say HTTP/1.1\r\nHost: a\r\n\r\n').response();
            bodies.push(`${response.status} ${response.body.trim()}`);
          }
          client.close();
          return bodies;
        }),
      );
      for (const body of answers.flat())
        assert.equal(body, `200 ${protocol} localhost:${port} localhost NONE`, versions);
      const big = await get(balancer.port, '/big.bin');
      assert.equal(
        createHash('sha256').update(Buffer.from(big.body, 'latin1')).digest('hex'),
        createHash('sha256').update(BIG).digest('hex'),
      );
    }
  },
);

test('nginx takes our certificate', { skip: unlessInstalled(NGINX, 'nginx') }, async (t) => {
  const authority = await makeAuthority(t);
  const port = await startNginx(t, await authority.issue(['localhost']), authority.rootFile);
  const own = await authority.issue(['balancer']);
  const transport = `transport http {\ntls_trust_pool file ${authority.rootFile}\ntls_client_auth ${own.certFile} ${own.keyFile}\n}`;
  const balancer = await startBalancer(t, site(`reverse_proxy https://localhost:${port} {\n${transport}\n}`));
  assert.match((await get(balancer.port, '/say')).body, / SUCCESS$/m);
});

test('Caddy, in both versions', { skip: unlessInstalled(CADDY, 'caddy') }, async (t) => {
  const authority = await makeAuthority(t);
  const leaf = await authority.issue(['localhost']);
  const folder = folderOf(t);
  const port = await freePort();
  writeFileSync(
    join(folder, 'Caddyfile'),
    `{\n\tadmin off\n\tauto_https off\n}\nhttps://localhost:${port} {\n\tbind 127.0.0.1\n\ttls ${leaf.certFile} ${leaf.keyFile}\n` +
      `\trespond "{http.request.proto} {http.request.host} {http.request.tls.server_name}"\n}\n`,
  );
  const env = { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder };
  startProgram(t, CADDY!, ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], { env });
  await reachable(port);
  for (const [versions, protocol] of [
    ['1.1', 'HTTP/1.1'],
    ['1.1 2', 'HTTP/2.0'],
  ] as const) {
    const balancer = await front(t, port, authority.rootFile, versions);
    for (let count = 0; count < 5; count += 1) {
      assert.equal((await get(balancer.port)).body, `${protocol} localhost localhost`);
    }
  }
});

const raw = (bytes: Buffer): Buffer => bytes;
const method = (path: string, responseStream: boolean) => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: raw,
  requestDeserialize: raw,
  responseSerialize: raw,
  responseDeserialize: raw,
});

function frame(text: string): Buffer {
  const bytes = Buffer.from(text);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

test('a gRPC server over h2c: unary, a stream, and an error that has no message', async (t) => {
  const server = new Server();
  server.addService(
    {
      unary: method('/test.Echo/Unary', false),
      many: method('/test.Echo/Many', true),
      fail: method('/test.Echo/Fail', false),
    },
    {
      unary: (call: { request: Buffer }, done: sendUnaryData<Buffer>) =>
        done(null, Buffer.concat([Buffer.from('echo '), call.request])),
      many: (call: ServerWritableStream<Buffer, Buffer>) => {
        for (let count = 0; count < 5; count += 1) call.write(Buffer.from(`part ${count}`));
        call.end();
      },
      fail: (_call: unknown, done: sendUnaryData<Buffer>) => done({ code: status.NOT_FOUND, details: 'no such thing' }),
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  t.after(() => server.forceShutdown());
  const balancer = await startBalancer(t, site(`reverse_proxy h2c://127.0.0.1:${port}`));
  const call = async (name: string, message: string) => {
    const client = await openClient(balancer.port);
    const body = frame(message);
    client.send(
      `POST /test.Echo/${name} HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc\r\nTE: trailers\r\nConnection: TE\r\n` +
        `Content-Length: ${body.length}\r\n\r\n`,
    );
    const response = await client.send(body).response('POST');
    client.close();
    return response;
  };
  const unary = await call('Unary', 'hello');
  assert.equal(Buffer.from(unary.body, 'latin1').subarray(5).toString(), 'echo hello');
  assert.equal(Object.fromEntries(unary.trailers)['grpc-status'], '0');
  const many = await call('Many', 'x');
  assert.equal(many.body.match(/part \d/g)?.join(), 'part 0,part 1,part 2,part 3,part 4');
  assert.equal(Object.fromEntries(many.trailers)['grpc-status'], '0');
  const fail = await call('Fail', 'x');
  assert.equal(fail.status, 200);
  const where = { ...Object.fromEntries(fail.fields), ...Object.fromEntries(fail.trailers) };
  assert.equal(where['grpc-status'], '5');
  assert.equal(decodeURIComponent(where['grpc-message'] ?? ''), 'no such thing');
});
