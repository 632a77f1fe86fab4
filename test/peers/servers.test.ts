/** Servers that people run, behind the balancer: what they send arrives as they sent it. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { site, startBalancer, type TestBalancer } from '../support/balance.ts';
import { valueOf } from '../support/metric.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { assertNoRestarts } from '../support/recorder.ts';
import { FILE_SERVERS, LARGE, SMALL, pythonStreamer, type Peer, type PeerKind } from './servers.ts';

async function startFront(t: TestContext, kind: PeerKind): Promise<{ peer: Peer; balancer: TestBalancer }> {
  const peer = await kind.start(t);
  return { peer, balancer: await startBalancer(t, site(`reverse_proxy 127.0.0.1:${peer.port}`)) };
}

for (const kind of FILE_SERVERS) {
  test(`${kind.name}: a client gets of it what it gets directly`, { skip: kind.skip }, async (t) => {
    const { peer, balancer } = await startFront(t, kind);
    const requests = [
      'GET /small.txt',
      'HEAD /small.txt',
      'GET /empty.txt',
      'GET /large.bin',
      'HEAD /large.bin',
      'GET /sub',
      'GET /sub/',
      'GET /absent',
      'POST /small.txt',
      'DELETE /small.txt',
    ];
    for (const request of requests) {
      const length = request.startsWith('POST') ? 'Content-Length: 0\r\n' : '';
      const text = `${request} HTTP/1.1\r\nHost: files.example\r\n${length}Connection: close\r\n\r\n`;
      const direct = await ask(peer.port, text);
      const relayed = await ask(balancer.port, text);
      assert.equal(relayed.status, direct.status, request);
      assert.equal(relayed.body, direct.body, request);
      for (const name of ['Content-Type', 'Content-Length', 'Last-Modified', 'ETag', 'Location', 'Allow', 'Server']) {
        assert.deepEqual(relayed.headers(name), direct.headers(name), `${request}: ${name}`);
      }
    }
    assertNoRestarts(await balancer.metrics());
  });

  test(`${kind.name}: a large file arrives whole, twelve times at once`, { skip: kind.skip }, async (t) => {
    const { balancer } = await startFront(t, kind);
    const answers = await Promise.all(Array.from({ length: 12 }, () => get(balancer.port, '/large.bin')));
    for (const { status, body } of answers) {
      assert.equal(status, 200);
      assert.ok(Buffer.from(body, 'latin1').equals(LARGE));
    }
  });

  test(`${kind.name}: many requests on one connection of a client`, { skip: kind.skip }, async (t) => {
    const { peer, balancer } = await startFront(t, kind);
    const client = await openClient(balancer.port);
    for (let count = 0; count < 50; count += 1) {
      const { status, body } = await client.send('GET /small.txt HTTP/1.1\r\nHost: a\r\n\r\n').response();
      assert.deepEqual([status, body], [200, SMALL]);
    }
    client.close();
    if (kind.version !== '1.1') return;
    const labels = { upstream: `127.0.0.1:${peer.port}`, origin: 'new' };
    assert.equal(valueOf(await balancer.metrics(), 'holdfast_upstream_connections_total', labels), 1);
  });

  test(
    `${kind.name}: conditions, parts and encodings are between client and server`,
    { skip: kind.skip },
    async (t) => {
      const { balancer } = await startFront(t, kind);
      const plain = await get(balancer.port, '/small.txt');
      const since = plain.header('Last-Modified')!;
      assert.equal((await get(balancer.port, '/small.txt', { 'If-Modified-Since': since })).status, 304);
      if (!kind.ranges) return;
      const part = await get(balancer.port, '/large.bin', { Range: 'bytes=1000-1999' });
      assert.equal(part.status, 206);
      assert.equal(part.body, LARGE.subarray(1000, 2000).toString('latin1'));
      const packed = await get(balancer.port, '/small.txt', { 'Accept-Encoding': 'gzip' });
      assert.equal(packed.header('Content-Encoding'), 'gzip');
      assert.equal(String(gunzipSync(Buffer.from(packed.body, 'latin1'))), SMALL);
    },
  );

  test(`${kind.name}: passes a health check that reads its body`, { skip: kind.skip }, async (t) => {
    const peer = await kind.start(t);
    const check = 'health_uri /small.txt\nhealth_interval 50ms\nhealth_body "from a file"';
    const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${peer.port} {\n${check}\n}`));
    const [upstream] = balancer.upstreams();
    assert.notEqual(upstream!.state, 'down', upstream!.why);
    assert.equal((await get(balancer.port, '/small.txt')).status, 200);
  });
}

test(
  'a streamer of chunks: every chunk arrives, and fields with bytes above 0x7f as they are',
  { skip: pythonStreamer.skip },
  async (t) => {
    const { balancer } = await startFront(t, pythonStreamer);
    const response = await get(balancer.port, '/lines/2000');
    assert.equal(response.body, Array.from({ length: 2000 }, (_, number) => `line ${number}\n`).join(''));
    assert.equal(response.header('Content-Disposition'), 'attachment; filename="\xe4\xb8\xad.pdf"');
    assert.deepEqual(
      response.fields.filter(([name]) => name.toLowerCase() === 'set-cookie'),
      [
        ['Set-Cookie', 'a=1'],
        ['SET-COOKIE', 'b=2'],
      ],
    );
  },
);

test(
  'a streamer of chunks: takes uploads with a length and in chunks on one connection',
  { skip: pythonStreamer.skip },
  async (t) => {
    const { balancer } = await startFront(t, pythonStreamer);
    const client = await openClient(balancer.port);
    for (let round = 0; round < 5; round += 1) {
      client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfixed');
      assert.equal((await client.response()).body, 'fixed');
      client.send(
        'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nchu\r\n4;x=y\r\nnked\r\n0\r\n\r\n',
      );
      assert.equal((await client.response()).body, 'chunked');
    }
    client.close();
  },
);
