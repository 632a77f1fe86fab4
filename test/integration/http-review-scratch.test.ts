import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { site, startBalancer } from '../support/balance.ts';
import { eventually, startScripted } from '../support/backend.ts';
import { openClient, get } from '../support/raw-client.ts';
import { startRecorder, OK } from '../support/recorder.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

test('write limit holds against a stream that trickles', async (t) => {
  const upstream = await startScripted(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const timer = setInterval(() => socket.write('x'), 50);
      socket.on('close', () => clearInterval(timer));
    });
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`, '  servers {\n timeouts {\n write 600ms\n }\n }'));
  const client = await openClient(balancer.port);
  client.send(GET);
  assert.equal(await client.ended(4000), 'reset');
});

test('HEAD rewritten to GET sends no body', async (t) => {
  const upstream = await startRecorder(t);
  const balancer = await startBalancer(t, site(`method GET\nreverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.response('HEAD');
  await sleep(200);
  assert.equal(client.received, '');
  client.close();
});

test('HEAD rewritten to GET, chunked', async (t) => {
  const upstream = await startRecorder(t, (socket) => void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'));
  const balancer = await startBalancer(t, site(`method GET\nreverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.response('HEAD');
  await sleep(200);
  assert.equal(client.received, '');
  client.close();
});

test('GET rewritten to HEAD', async (t) => {
  const upstream = await startRecorder(t, (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'));
  const balancer = await startBalancer(t, site(`method HEAD\nreverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send(GET);
  const r = await client.response('GET', 2000);
  assert.equal(r.body, '');
  client.close();
});

test('rewritten HEAD to GET and respond', async (t) => {
  const balancer = await startBalancer(t, site(`route {\nmethod GET\nrespond hello\n}`));
  const client = await openClient(balancer.port);
  client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.response('HEAD');
  await sleep(200);
  assert.equal(client.received, '');
  client.close();
});

test('early tunnel bytes and FIN both reach the upstream', async (t) => {
  const upstream = await startScripted(t, (socket, _, received) => {
    socket.once('data', () => {
      setTimeout(() => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'), 300);
    });
    socket.on('end', () => socket.end(`got ${received().split('\r\n\r\n')[1]}`));
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nearly');
  client.socket.end();
  assert.equal((await client.response()).status, 101);
  assert.equal(await client.ended(3000), 'fin');
  assert.equal(client.received, 'got early');
});

test('a flood of 1xx to a client that does not read is stopped', async (t) => {
  let written = 0;
  const piece = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(1000));
  const upstream = await startScripted(t, (socket) => {
    const more = (): void => {
      for (let open = true; open && !socket.destroyed && written < 200_000_000; written += piece.length) open = socket.write(piece);
    };
    socket.once('data', more);
    socket.on('drain', more);
  });
  const balancer = await startBalancer(t, site(`reverse_proxy 127.0.0.1:${upstream.port}`));
  const client = await openClient(balancer.port);
  client.socket.pause();
  client.send(GET);
  let before = -1;
  await eventually(async () => {
    const still = written === before && before > 0;
    before = written;
    if (!still) await sleep(400);
    return still;
  }, 'stop');
  assert.ok(written < 50_000_000, String(written));
  client.close();
});
