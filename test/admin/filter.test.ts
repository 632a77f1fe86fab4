import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { AdminServer } from '../../src/control-plane/admin/server.ts';
import { silentLogger } from '../../src/shared/log.ts';
import { startAdmin, type HarnessOptions } from './harness.ts';

/** `$` in a line stands for the port of the endpoint. Headers end the head; POST sends an empty config. */
interface Case {
  readonly name: string;
  readonly head: string;
  readonly status: number;
  readonly options?: HarnessOptions;
}

const JSON_POST = 'Content-Type: application/json\r\nContent-Length: 2';
const LOAD = `POST /load HTTP/1.1\r\nHost: localhost:$`;

const CASES: readonly Case[] = [
  { name: '(a) a foreign host', head: 'GET /config/ HTTP/1.1\r\nHost: evil.example:2019', status: 403 },
  {
    name: '(a) a foreign host that writes',
    head: `POST /load HTTP/1.1\r\nHost: evil.example:$\r\n${JSON_POST}`,
    status: 403,
  },
  { name: '(b) a foreign origin', head: `${LOAD}\r\nOrigin: http://evil.example\r\n${JSON_POST}`, status: 403 },
  {
    name: '(c) a foreign host and the equal origin',
    head: `POST /load HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n${JSON_POST}`,
    status: 403,
  },
  {
    name: '(d) a cross-site form',
    head: `${LOAD}\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nContent-Type: text/plain\r\nContent-Length: 2`,
    status: 403,
  },
  {
    name: '(d) a cross-site POST without any other sign',
    head: `${LOAD}\r\nContent-Type: text/plain\r\nSec-Fetch-Site: cross-site\r\nContent-Length: 2`,
    status: 403,
  },
  {
    name: 'a page on another port of this machine',
    head: `${LOAD}\r\nSec-Fetch-Site: same-site\r\n${JSON_POST}`,
    status: 403,
  },
  {
    name: 'the origin of another port of this machine',
    head: `${LOAD}\r\nOrigin: http://localhost:1\r\n${JSON_POST}`,
    status: 403,
  },
  { name: '(e) HTTP/1.0 without Host', head: 'GET /config/ HTTP/1.0', status: 403 },
  { name: 'a health check in HTTP/1.0 without Host', head: 'GET /health/live HTTP/1.0', status: 200 },
  {
    name: 'a health check in HTTP/1.0 with a foreign Host',
    head: 'GET /health/live HTTP/1.0\r\nHost: a.b',
    status: 403,
  },
  { name: 'a health check in HTTP/1.1 without Host', head: 'GET /health/live HTTP/1.1', status: 400 },
  { name: 'HTTP/1.1 without Host', head: 'GET /config/ HTTP/1.1', status: 400 },
  { name: 'two Host lines', head: 'GET /config/ HTTP/1.1\r\nHost: localhost:$\r\nHost: localhost:$', status: 400 },
  { name: '(f) localhost', head: 'GET /config/ HTTP/1.1\r\nHost: localhost:$', status: 200 },
  { name: '(f) 127.0.0.1', head: 'GET /config/ HTTP/1.1\r\nHost: 127.0.0.1:$', status: 200 },
  { name: '(f) [::1]', head: 'GET /config/ HTTP/1.1\r\nHost: [::1]:$', status: 200 },
  { name: '(f) upper case', head: 'GET /config/ HTTP/1.1\r\nHost: LocalHost:$', status: 200 },
  {
    name: '(f) a loopback name with the port of a tunnel',
    head: 'GET /config/ HTTP/1.1\r\nHost: localhost:9999',
    status: 200,
  },
  { name: '(f) a loopback name without port', head: 'GET /config/ HTTP/1.1\r\nHost: localhost', status: 200 },
  {
    name: 'a name that begins like a loopback name',
    head: 'GET /config/ HTTP/1.1\r\nHost: localhost.evil.example',
    status: 403,
  },
  {
    name: '(g) the target names an allowed host',
    head: 'GET http://localhost:$/config/ HTTP/1.1\r\nHost: evil.example',
    status: 200,
  },
  {
    name: '(g) the target names a foreign host',
    head: 'GET http://evil.example/config/ HTTP/1.1\r\nHost: localhost:$',
    status: 403,
  },
  {
    name: 'a target with userinfo',
    head: 'GET http://localhost:$@evil.example/config/ HTTP/1.1\r\nHost: localhost:$',
    status: 403,
  },
  { name: 'the own origin', head: `${LOAD}\r\nOrigin: http://localhost:$\r\n${JSON_POST}`, status: 200 },
  {
    name: 'the dashboard through a tunnel',
    head: `POST /load HTTP/1.1\r\nHost: localhost:9999\r\nOrigin: http://localhost:9999\r\nSec-Fetch-Site: same-origin\r\n${JSON_POST}`,
    status: 200,
  },
  { name: 'origin null', head: `${LOAD}\r\nOrigin: null\r\n${JSON_POST}`, status: 400 },
  { name: 'mode no-cors', head: 'GET /config/ HTTP/1.1\r\nHost: localhost:$\r\nSec-Fetch-Mode: no-cors', status: 400 },
  {
    name: 'a mode without a site, from a foreign page',
    head: 'GET /config/ HTTP/1.1\r\nHost: localhost:$\r\nSec-Fetch-Mode: cors\r\nReferer: http://evil.example/page',
    status: 403,
  },
  {
    name: 'the fetch of Node, which sends the mode alone',
    head: 'GET /config/ HTTP/1.1\r\nHost: localhost:$\r\nSec-Fetch-Mode: cors',
    status: 200,
  },
  {
    name: 'a websocket',
    head: 'GET /config/ HTTP/1.1\r\nHost: localhost:$\r\nConnection: upgrade\r\nUpgrade: WebSocket',
    status: 400,
  },
  {
    name: 'a link from another site',
    head: 'GET /config/ HTTP/1.1\r\nHost: localhost:$\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document',
    status: 200,
  },
  {
    name: 'a frame of another site',
    head: 'GET /config/ HTTP/1.1\r\nHost: localhost:$\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe',
    status: 403,
  },
  {
    name: 'a listed host',
    head: 'GET /config/ HTTP/1.1\r\nHost: admin.example',
    status: 200,
    options: { origins: ['https://admin.example'] },
  },
  {
    name: 'a loopback host that the list leaves out',
    head: 'GET /config/ HTTP/1.1\r\nHost: localhost:$',
    status: 403,
    options: { origins: ['admin.example'] },
  },
  {
    name: 'a listed origin with another scheme',
    head: `POST /load HTTP/1.1\r\nHost: admin.example\r\nOrigin: http://admin.example\r\n${JSON_POST}`,
    status: 403,
    options: { origins: ['https://admin.example'] },
  },
  {
    name: 'no origin where one is enforced',
    head: `${LOAD}\r\n${JSON_POST}`,
    status: 403,
    options: { enforceOrigin: true },
  },
  {
    name: 'an allowed referer where an origin is enforced',
    head: `${LOAD}\r\nReferer: http://localhost:$/page\r\n${JSON_POST}`,
    status: 200,
    options: { enforceOrigin: true },
  },
  {
    name: 'a rebound name on a wildcard address',
    head: 'GET /config/ HTTP/1.1\r\nHost: evil.example',
    status: 403,
    options: { host: '0.0.0.0' },
  },
  {
    name: 'the own IP on a wildcard address',
    head: 'GET /config/ HTTP/1.1\r\nHost: 127.0.0.1:$',
    status: 200,
    options: { host: '0.0.0.0' },
  },
];

for (const { name, head, status, options } of CASES) {
  test(`${status} for ${name}`, async (t) => {
    const admin = await startAdmin(t, options);
    const withPort = head.replaceAll('$', String(admin.port));
    const reply = await admin.raw(`${withPort}\r\nConnection: close\r\n\r\n${head.startsWith('POST') ? '{}' : ''}`);
    assert.equal(Number(/^HTTP\/1\.1 (\d+)/.exec(reply)?.[1]), status, reply);
    if (status !== 200) {
      assert.match(reply, /\r\n\r\n\{"error":"[^]+"\}\n$/);
      assert.deepEqual(admin.plane.loads, []);
    }
  });
}

test('the answer to an allowed origin may be read by that origin, and by no other', async (t) => {
  const admin = await startAdmin(t);
  const origin = `http://127.0.0.1:${admin.port}`;
  const preflight = await admin.request('OPTIONS', '/load', { headers: { Origin: origin } });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get('access-control-allow-origin'), origin);
  const refused = await admin.request('OPTIONS', '/load', { headers: { Origin: 'http://evil.example' } });
  assert.equal(refused.status, 403);
  assert.equal(refused.headers.get('access-control-allow-origin'), null);
});

test('an endpoint on an address in use says so', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  t.after(() => holder.close());
  await new Promise((resolve) => holder.once('listening', resolve));
  const { port } = holder.address() as AddressInfo;
  const spec = { enabled: true, host: '127.0.0.1', port, origins: [], enforceOrigin: false };
  await assert.rejects(new AdminServer({ spec, routes: [], log: silentLogger }).listen(), { code: 'EADDRINUSE' });
});
