/** Programs that people run over TCP, behind and before a layer-4 server. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmod, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { eventually, startScripted } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { layer4, proxyRoute } from '../support/layer4-site.ts';
import { get } from '../support/raw-client.ts';
import {
  findProgram,
  freePort,
  runProgram,
  startServer,
  temporaryFolder,
  unlessInstalled,
} from '../support/program.ts';
import { connectTo } from '../support/tcp-world.ts';

const OPTIONS = { timeout: 120_000 };
const NGINX = findProgram('nginx');
const HAPROXY = findProgram('haproxy');
const REDIS = findProgram('redis-server');
const REDIS_CLIENT = findProgram('redis-cli');
const SSHD = findProgram('sshd');
const SSH = findProgram('ssh');
const SSH_KEYGEN = findProgram('ssh-keygen');

/** A running balancer with one route to the ports; returns its port. */
async function front(t: TestContext, ports: readonly number[], options = '', before = ''): Promise<number> {
  return (await startBalancer(t, layer4(proxyRoute(ports, options, before)))).port;
}

async function startHaproxy(t: TestContext, frontend: string, server: string): Promise<number> {
  const port = await freePort();
  const config = join(await temporaryFolder(t), 'haproxy.cfg');
  await writeFile(
    config,
    `defaults
  mode tcp
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen test
  bind 127.0.0.1:${port} ${frontend}
  server one ${server}
`,
  );
  await startServer(t, HAPROXY!, ['-db', '-f', config], port);
  return port;
}

/** Debian's sshd wants it when root starts it; its service unit makes it. */
async function makePrivilegeSeparationFolder(t: TestContext): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const made = await mkdir('/run/sshd', { recursive: true, mode: 0o755 });
  if (made !== undefined) t.after(() => rmdir('/run/sshd').catch(() => {}));
}

describe('PROXY protocol', () => {
  for (const version of ['v1', 'v2']) {
    test(
      `nginx reads the client of our ${version} header`,
      { ...OPTIONS, skip: unlessInstalled(NGINX, 'nginx') },
      async (t) => {
        const folder = await temporaryFolder(t);
        const backend = await freePort();
        const config = join(folder, 'nginx.conf');
        const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
        await writeFile(
          config,
          `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 64; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server {
    listen 127.0.0.1:${backend} proxy_protocol;
    return 200 "$proxy_protocol_addr $proxy_protocol_server_addr $proxy_protocol_server_port";
  }
}
`,
        );
        await startServer(t, NGINX!, ['-c', config, '-p', folder, '-e', join(folder, 'start.log')], backend);
        const port = await front(t, [backend], `          proxy_protocol ${version}`);
        assert.equal((await get(port, '/', {}, '127.0.7.9')).body, `127.0.7.9 127.0.0.1 ${port}`);
      },
    );

    const receive = '        proxy_protocol {\n          allow 127.0.0.0/8\n          timeout 2s\n        }';

    test(
      `HAProxy reads our ${version} header, and we read what it sends on`,
      { ...OPTIONS, skip: unlessInstalled(HAPROXY, 'haproxy') },
      async (t) => {
        const upstream = await startScripted(t, () => {});
        const inner = await front(t, [upstream.port], '          proxy_protocol v1', receive);
        const send = version === 'v1' ? 'send-proxy' : 'send-proxy-v2 proxy-v2-options crc32c,unique-id';
        const between = await startHaproxy(t, 'accept-proxy', `127.0.0.1:${inner} ${send}`);
        const outer = await front(t, [between], `          proxy_protocol ${version}`);
        const client = await connectTo(t, outer, '127.0.8.1');
        client.send('payload');
        const expected = `PROXY TCP4 127.0.8.1 127.0.0.1 ${client.socket.localPort} ${outer}\r\npayload`;
        await eventually(
          () => upstream.received[0] !== undefined && upstream.received[0].length >= expected.length,
          'the header',
        );
        assert.equal(upstream.received[0], expected);
      },
    );

    test(
      `HAProxy's health checks, whose ${version} header names nobody, are taken`,
      { ...OPTIONS, skip: unlessInstalled(HAPROXY, 'haproxy') },
      async (t) => {
        const upstream = await startScripted(t, () => {});
        const inner = await front(t, [upstream.port], '          proxy_protocol v1', receive);
        await startHaproxy(
          t,
          '',
          `127.0.0.1:${inner} ${version === 'v1' ? 'send-proxy' : 'send-proxy-v2'} check inter 200ms`,
        );
        await eventually(
          () => upstream.received.some((text) => text.startsWith('PROXY TCP4 127.0.0.1 127.0.0.1 ')),
          'a check',
        );
      },
    );
  }
});

const NO_HAPROXY = unlessInstalled(HAPROXY, 'haproxy');
test('HAProxy checks our checksum and reads our id and name', { ...OPTIONS, skip: NO_HAPROXY }, async (t) => {
  const port = await freePort();
  const config = join(await temporaryFolder(t), 'haproxy.cfg');
  await writeFile(
    config,
    `defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend test
  bind 127.0.0.1:${port} accept-proxy
  http-request return status 200 content-type text/plain lf-string "%[fc_pp_authority] %[fc_pp_unique_id] %[src]"
`,
  );
  await startServer(t, HAPROXY!, ['-db', '-f', config], port);
  const tlvs = 'crc32c\nunique_id\ntlv 2 a.example\ntlv 0xe1 "\\x01vpc-1"';
  const balanced = await front(t, [port], `          proxy_protocol v2 {\n${tlvs}\n          }`);
  const { body } = await get(balanced, '/', {}, '127.0.9.1');
  assert.match(body, /^a\.example [0-9a-f-]{36} 127\.0\.9\.1$/);
});

describe(
  'Redis',
  { skip: unlessInstalled(REDIS, 'redis-server') || unlessInstalled(REDIS_CLIENT, 'redis-cli') },
  () => {
    async function startRedis(t: TestContext): Promise<{ port: number; end: () => Promise<void> }> {
      const port = await freePort();
      const folder = await temporaryFolder(t);
      const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
      const { end } = await startServer(t, REDIS!, args, port);
      return { port, end };
    }

    const cli = (port: number, args: readonly string[], input = '') =>
      runProgram(REDIS_CLIENT!, ['-h', '127.0.0.1', '-p', String(port), ...args], input);

    test('commands, a value of 8 MB, and a thousand commands in one go', OPTIONS, async (t) => {
      const port = await front(t, [(await startRedis(t)).port]);
      const value = 'v'.repeat(8_388_608);
      assert.equal((await cli(port, ['-x', 'set', 'large'], value)).stdout.trim(), 'OK');
      const { stdout } = await cli(port, ['get', 'large']);
      assert.equal(
        createHash('sha1').update(stdout.trim()).digest('hex'),
        createHash('sha1').update(value).digest('hex'),
      );
      const many = await cli(port, ['--pipe'], 'INCR n\r\n'.repeat(1000));
      assert.match(many.stdout, /errors: 0, replies: 1000/);
      assert.equal((await cli(port, ['get', 'n'])).stdout.trim(), '1000');
    });

    test('one that ends ends its connections, and the next client gets the other', OPTIONS, async (t) => {
      const [first, second] = [await startRedis(t), await startRedis(t)];
      const port = await front(t, [first.port, second.port], '          lb_policy first');
      await cli(first.port, ['set', 'who', 'first']);
      await cli(second.port, ['set', 'who', 'second']);
      const client = await connectTo(t, port);
      client.send('PING\r\n');
      await client.until(() => client.received === '+PONG\r\n');
      assert.equal((await cli(port, ['get', 'who'])).stdout.trim(), 'first');
      await first.end();
      await client.ended();
      assert.equal((await cli(port, ['get', 'who'])).stdout.trim(), 'second');
    });
  },
);

describe('OpenSSH', { skip: unlessInstalled(SSHD, 'openssh-server') || unlessInstalled(SSH, 'openssh-client') }, () => {
  test('a command runs through it, and its output of 4 MB arrives whole', OPTIONS, async (t) => {
    const folder = await temporaryFolder(t);
    const port = await freePort();
    for (const name of ['host', 'user']) {
      await runProgram(SSH_KEYGEN!, ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
    }
    const { stdout: publicKey } = await runProgram(SSH_KEYGEN!, ['-y', '-f', join(folder, 'user')]);
    await writeFile(join(folder, 'authorized'), publicKey);
    await chmod(folder, 0o755);
    await writeFile(
      join(folder, 'sshd_config'),
      `Port ${port}
ListenAddress 127.0.0.1
HostKey ${folder}/host
AuthorizedKeysFile ${folder}/authorized
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PidFile none
`,
    );
    await makePrivilegeSeparationFolder(t);
    await startServer(t, SSHD!, ['-D', '-e', '-f', join(folder, 'sshd_config')], port);
    const balanced = await front(t, [port]);
    const options = [
      'StrictHostKeyChecking=no',
      `UserKnownHostsFile=${folder}/known`,
      'BatchMode=yes',
      'IdentitiesOnly=yes',
    ];
    const args = [
      '-F',
      'none',
      '-i',
      join(folder, 'user'),
      '-p',
      String(balanced),
      ...options.flatMap((option) => ['-o', option]),
    ];
    const { stdout, stderr, code } = await runProgram(
      SSH!,
      [...args, `${userInfo().username}@127.0.0.1`, 'head -c 4194304 /dev/zero | tr "\\0" x; echo end'],
      '',
      60_000,
    );
    assert.equal(code, 0, stderr);
    assert.equal(stdout.length, 4_194_304 + 4);
  });
});
