/** `listener_wrappers { proxy_protocol }`: clients of sites come through a proxy that says who they are. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectH2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { parseIp } from '../../src/shared/net/ip.ts';
import { proxyHeader } from '../../src/shared/net/proxy-header.ts';
import { eventually, startBackend } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { askH2 } from '../support/http2-client.ts';
import { openClient, RawClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';
import { startTlsSite } from '../support/tls-site.ts';

const OPTIONS = { timeout: 60_000, concurrency: 4 };
const WHO =
  '\trespond "{http.request.remote.host} {http.request.remote.port} {http.request.local.host} {http.request.local.port} {client_ip}"';
const SOURCE = parseIp('203.0.113.5')!;
const HEADERS = (['v1', 'v2'] as const).map((version) => ({
  version,
  bytes: proxyHeader(version, {
    ...{ client: SOURCE, peer: SOURCE, peerPort: 4711 },
    ...{ localAddress: '198.51.100.1', localPort: 443 },
  }),
}));
const [V1] = HEADERS;
const NAMED = '203.0.113.5 4711 198.51.100.1 443 203.0.113.5';
/** LOCAL of version 2: a check of the proxy itself. */
const LOCAL = '\r\n\r\n\0\r\nQUIT\n\x20\0\0\0';
const REQUEST = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n';

function wrapped(options: string, more = ''): string {
  return `listener_wrappers {\nproxy_protocol {\n${options}\n}\ntls\n}\n${more}`;
}

async function start(t: TestContext, options: string, more = ''): Promise<number> {
  return (await startBalancer(t, site(WHO, { servers: wrapped(options, more) }))).port;
}

async function say(t: TestContext, port: number, bytes: string, localAddress = '127.0.0.1'): Promise<RawClient> {
  const client = await openClient(port, localAddress);
  t.after(() => client.close());
  return client.send(bytes);
}

/** The connection and, in front of all that is sent later, the header. */
async function announced(t: TestContext, port: number, header: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  socket.write(header, 'latin1');
  return socket;
}

describe('peers in allow', OPTIONS, () => {
  for (const { version, bytes } of HEADERS) {
    test(`${version}, byte by byte: requests are those of the client and the place it names`, async (t) => {
      const port = await start(t, 'allow 127.0.0.0/16');
      const client = await say(t, port, '');
      for (const byte of bytes) {
        client.send(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
      for (let nth = 0; nth < 2; nth += 1) assert.equal((await client.send(REQUEST).response()).body, NAMED);
    });

    test(`${version} and a request in one segment`, async (t) => {
      const port = await start(t, 'allow 127.0.0.0/16');
      const client = await say(t, port, `${bytes}${REQUEST}`);
      assert.equal((await client.response()).body, NAMED);
    });

    test(`${version} before the ClientHello`, async (t) => {
      const tls = await startTlsSite(t, { body: WHO, globals: `servers {\n${wrapped('allow 127.0.0.1')}\n}` });
      const socket = connectTls({ ...tls.trusting, socket: await announced(t, tls.port, bytes) });
      await once(socket, 'secureConnect');
      const client = new RawClient(socket);
      assert.equal((await client.send(REQUEST).response()).body, NAMED);
      client.close();
    });

    test(`${version} before HTTP/2 in the clear`, async (t) => {
      const port = await start(t, 'allow 127.0.0.1', 'protocols h1 h2 h2c');
      const socket = await announced(t, port, bytes);
      const session = connectH2('http://a.test', { createConnection: () => socket });
      session.on('error', () => {});
      t.after(() => session.destroy());
      await once(session, 'remoteSettings');
      assert.equal((await askH2(session)).body, NAMED);
    });
  }

  test('HTTP/2 over TLS behind a header', async (t) => {
    const tls = await startTlsSite(t, { body: WHO, globals: `servers {\n${wrapped('allow 127.0.0.1')}\n}` });
    const socket = connectTls({
      ...tls.trusting,
      ALPNProtocols: ['h2'],
      socket: await announced(t, tls.port, V1!.bytes),
    });
    await once(socket, 'secureConnect');
    const session = connectH2('https://a.test', { createConnection: () => socket });
    session.on('error', () => {});
    t.after(() => session.destroy());
    assert.equal((await askH2(session)).body, NAMED);
  });

  test('UNKNOWN before the ClientHello: the ends are those of the connection', async (t) => {
    const tls = await startTlsSite(t, { body: WHO, globals: `servers {\n${wrapped('allow 127.0.0.1')}\n}` });
    const socket = connectTls({ ...tls.trusting, socket: await announced(t, tls.port, 'PROXY UNKNOWN\r\n') });
    await once(socket, 'secureConnect');
    const client = new RawClient(socket);
    assert.match((await client.send(REQUEST).response()).body, /^127\.0\.0\.1 \d+ 127\.0\.0\.1 \d+ 127\.0\.0\.1$/);
    client.close();
  });

  for (const [what, header] of [
    ['LOCAL', LOCAL],
    ['UNKNOWN', 'PROXY UNKNOWN\r\n'],
    ['no header', ''],
  ] as const) {
    test(`${what}: the ends are those of the connection`, async (t) => {
      const port = await start(t, 'allow 127.0.0.0/16');
      const client = await say(t, port, `${header}${REQUEST}`, '127.0.7.1');
      const own = `127.0.7.1 ${client.socket.localPort} 127.0.0.1 ${port} 127.0.7.1`;
      assert.equal((await client.response()).body, own);
    });
  }

  test('a method that begins like a header is a request', async (t) => {
    const port = await start(t, 'allow 127.0.0.1');
    const client = await say(t, port, 'P');
    client.send('ROPFIND / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    assert.equal((await client.response()).status, 200);
  });

  test('ip_hash, X-Forwarded-For and the access line see the client it names', async (t) => {
    const servers = await Promise.all(['0', '1', '2'].map((name) => startBackend(t, name)));
    const config = site(proxyTo(servers, 'lb_policy ip_hash'), { servers: wrapped('allow 127.0.0.1') });
    const balancer = await startBalancer(t, config);
    const homes = { '203.0.113.5': 1, '198.51.100.12': 0, '103.10.20.30': 2 };
    for (const [address, home] of Object.entries(homes)) {
      const request = 'GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n';
      const client = await say(t, balancer.port, `PROXY TCP4 ${address} 127.0.0.1 1 2\r\n${request}`);
      await client.response();
      const forwarded = servers[home]!.requests.at(-1)?.headers['x-forwarded-for'];
      assert.equal(forwarded, address);
    }
    await eventually(() => balancer.accessLines.length === 3, 'access lines');
    const [line] = balancer.accessLines;
    assert.match(JSON.stringify(line), /"client":"203\.0\.113\.5","peer":"203\.0\.113\.5"/);
  });

  test('limits of a source count the client it names, and proxies can carry many', async (t) => {
    const port = await start(t, 'allow 127.0.0.1', 'limits {\nconnections_per_source 1\n}');
    const open = async (address: string) => say(t, port, `PROXY TCP4 ${address} 127.0.0.1 1 2\r\n${REQUEST}`);
    const first = await open('203.0.113.5');
    assert.equal((await first.response()).status, 200);
    assert.equal((await (await open('203.0.113.6')).response()).status, 200);
    assert.equal((await (await open('203.0.113.5')).response()).status, 503);
    first.close();
    await eventually(async () => (await (await open('203.0.113.5')).response()).status === 200, 'its place is free');
  });

  test('who has sent no header yet has a place among all connections', async (t) => {
    const port = await start(t, 'allow 127.0.0.1', 'limits {\nconnections 1\nconnections_per_source 1\n}');
    const silent = await say(t, port, 'P');
    await eventually(async () => (await (await say(t, port, REQUEST)).response()).status === 503, 'no place is left');
    assert.equal((await silent.send(`${V1!.bytes.slice(1)}${REQUEST}`).response()).body, NAMED);
  });

  test('a header that does not come to its end in time, or is broken: reset', async (t) => {
    const port = await start(t, 'timeout 200ms\nallow 127.0.0.1');
    for (const bytes of ['PROXY TCP4 1.2', `PROXY TCP4 1.2.3.4 5.6.7.8 1 99999\r\n${REQUEST}`]) {
      const client = await say(t, port, bytes);
      await client.until(() => client.end !== undefined);
      assert.equal(client.end, 'reset', bytes);
      assert.equal(client.received, '');
    }
  });

  test('a connection that is silent for all of the time is still served', async (t) => {
    const port = await start(t, 'timeout 50ms\nallow 127.0.0.1');
    const client = await say(t, port, '');
    await new Promise((resolve) => setTimeout(resolve, 400));
    assert.equal((await client.send(REQUEST).response()).status, 200);
  });

  test('half of a header and a FIN: the connection ends', async (t) => {
    const port = await start(t, 'allow 127.0.0.1');
    const client = await say(t, port, 'PROXY TCP4 1.2');
    client.socket.end();
    await client.until(() => client.end !== undefined);
    assert.equal(client.received, '');
  });

  test('header, request and FIN at once: the answer comes', async (t) => {
    const port = await start(t, 'allow 127.0.0.1');
    const client = await say(t, port, '');
    client.socket.end(`${V1!.bytes}${REQUEST}`);
    assert.equal((await client.response()).body, NAMED);
  });
});

describe('other peers', OPTIONS, () => {
  const peer = '127.0.6.6';
  const allow = 'allow 10.0.0.0/8';

  /** Body of the answer: the address that counts. null = reset. */
  async function outcome(t: TestContext, options: string, bytes: string): Promise<string | null> {
    const client = await say(t, await start(t, options), bytes, peer);
    await client.until(() => client.end !== undefined || client.received.includes('\r\n\r\n'));
    return client.received === '' ? null : (await client.response()).body.split(' ')[0]!;
  }

  const cases: readonly (readonly [options: string, withHeader: string | null, without: string | null])[] = [
    [allow, peer, peer],
    [`${allow}\nfallback_policy ignore`, peer, peer],
    [`${allow}\nfallback_policy use`, '203.0.113.5', peer],
    [`${allow}\nfallback_policy reject`, null, peer],
    [`${allow}\nfallback_policy require`, '203.0.113.5', null],
    ['allow 127.0.0.0/8\ndeny 127.0.6.6', null, peer],
  ];
  for (const [options, withHeader, without] of cases) {
    test(options.replaceAll('\n', ', '), async (t) => {
      assert.equal(await outcome(t, options, `${V1!.bytes}${REQUEST}`), withHeader, 'with a header');
      assert.equal(await outcome(t, options, REQUEST), without, 'without');
    });
  }

  test('fallback_policy skip: a header is what it is without the option, no HTTP', async (t) => {
    const client = await say(t, await start(t, `${allow}\nfallback_policy skip`), `${V1!.bytes}${REQUEST}`, peer);
    assert.equal((await client.response()).status, 400);
  });

  test('required and silent: reset', async (t) => {
    const client = await say(t, await start(t, 'timeout 100ms\nfallback_policy require'), '', peer);
    await client.until(() => client.end !== undefined);
    assert.equal(client.end, 'reset');
  });
});

test('a stop does not wait for connections that say nothing', OPTIONS, async (t) => {
  const balancer = await startBalancer(t, site(WHO, { servers: wrapped('timeout 5m\nallow 127.0.0.1') }));
  const clients = [await say(t, balancer.port, ''), await say(t, balancer.port, 'P')];
  const other = await say(t, balancer.port, REQUEST);
  assert.equal((await other.response()).status, 200, 'those before it were accepted');
  other.close();
  await balancer.drain();
  for (const client of clients) await client.until(() => client.end !== undefined);
});

test('a reload brings it for the connections that come then', OPTIONS, async (t) => {
  const balancer = await startBalancer(t, site(WHO));
  const before = await say(t, balancer.port, `${V1!.bytes}${REQUEST}`);
  assert.equal((await before.response()).status, 400);
  const kept = await say(t, balancer.port, REQUEST);
  assert.equal((await kept.response()).status, 200);
  await balancer.reload(site(WHO, { servers: wrapped('allow 127.0.0.1') }));
  assert.equal((await kept.send(REQUEST).response()).status, 200);
  const after = await say(t, balancer.port, `${V1!.bytes}${REQUEST}`);
  assert.equal((await after.response()).body, NAMED);
});
