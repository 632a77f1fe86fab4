import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAdmin, type Harness } from './harness.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };

interface Write {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  /** The config that is loaded; absent = none. */
  readonly loads?: unknown;
}

const BEFORE = { apps: { http: { list: ['a', 'b'], port: 80, inner: { '@id': 'me', x: 1 } } } };

function withHttp(http: object): unknown {
  return { apps: { http: { ...BEFORE.apps.http, ...http } } };
}

const WRITES: readonly Write[] = [
  {
    name: 'POST sets',
    method: 'POST',
    path: '/config/apps/http/port',
    body: 81,
    status: 200,
    loads: withHttp({ port: 81 }),
  },
  {
    name: 'POST makes a new key',
    method: 'POST',
    path: '/config/apps/http/new',
    body: 1,
    status: 200,
    loads: withHttp({ new: 1 }),
  },
  {
    name: 'POST appends to an array',
    method: 'POST',
    path: '/config/apps/http/list',
    body: 'c',
    status: 200,
    loads: withHttp({ list: ['a', 'b', 'c'] }),
  },
  {
    name: 'POST …/... appends several',
    method: 'POST',
    path: '/config/apps/http/list/...',
    body: ['c', 'd'],
    status: 200,
    loads: withHttp({ list: ['a', 'b', 'c', 'd'] }),
  },
  {
    name: 'POST …/... takes an array only',
    method: 'POST',
    path: '/config/apps/http/list/...',
    body: 'c',
    status: 400,
  },
  {
    name: 'POST sets an item',
    method: 'POST',
    path: '/config/apps/http/list/1',
    body: 'B',
    status: 200,
    loads: withHttp({ list: ['a', 'B'] }),
  },
  {
    name: 'PUT inserts',
    method: 'PUT',
    path: '/config/apps/http/list/1',
    body: 'x',
    status: 200,
    loads: withHttp({ list: ['a', 'x', 'b'] }),
  },
  {
    name: 'PUT inserts at the end',
    method: 'PUT',
    path: '/config/apps/http/list/2',
    body: 'x',
    status: 200,
    loads: withHttp({ list: ['a', 'b', 'x'] }),
  },
  { name: 'PUT beyond the end', method: 'PUT', path: '/config/apps/http/list/3', body: 'x', status: 404 },
  {
    name: 'PUT creates what is missing',
    method: 'PUT',
    path: '/config/apps/http/p/q',
    body: 1,
    status: 200,
    loads: withHttp({ p: { q: 1 } }),
  },
  { name: 'PUT over something', method: 'PUT', path: '/config/apps/http/port', body: 1, status: 409 },
  {
    name: 'PATCH replaces',
    method: 'PATCH',
    path: '/config/apps/http/list',
    body: ['z'],
    status: 200,
    loads: withHttp({ list: ['z'] }),
  },
  { name: 'PATCH of nothing', method: 'PATCH', path: '/config/apps/http/none', body: 1, status: 404 },
  {
    name: 'DELETE removes an item',
    method: 'DELETE',
    path: '/config/apps/http/list/0',
    status: 200,
    loads: withHttp({ list: ['b'] }),
  },
  { name: 'DELETE of nothing', method: 'DELETE', path: '/config/apps/http/none', status: 404 },
  { name: 'a step through a number', method: 'POST', path: '/config/apps/http/port/x', body: 1, status: 400 },
  { name: 'a step through nothing', method: 'POST', path: '/config/apps/tls/x', body: 1, status: 400 },
  { name: 'an index that is none', method: 'PATCH', path: '/config/apps/http/list/x', body: 1, status: 400 },
  {
    name: 'a path by id',
    method: 'PATCH',
    path: '/id/me/x',
    body: 2,
    status: 200,
    loads: withHttp({ inner: { '@id': 'me', x: 2 } }),
  },
  { name: 'an unknown id', method: 'PATCH', path: '/id/you/x', body: 2, status: 404 },
  {
    name: 'a second object with an id',
    method: 'POST',
    path: '/config/apps/http/other',
    body: { '@id': 'me' },
    status: 400,
  },
  { name: 'the whole config', method: 'POST', path: '/config/', body: { apps: {} }, status: 200, loads: { apps: {} } },
];

async function write(
  admin: Harness,
  { method, path, body }: Write,
  headers: Record<string, string> = {},
): Promise<number> {
  const reply = await admin.request(method, path, {
    headers: { ...(body === undefined ? {} : JSON_TYPE), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return reply.status;
}

for (const each of WRITES) {
  test(`${each.status} for ${each.name}`, async (t) => {
    const admin = await startAdmin(t);
    admin.plane.json = structuredClone(BEFORE);
    assert.equal(await write(admin, each), each.status);
    const loaded = admin.plane.loads.map(({ text }) => JSON.parse(text));
    assert.deepEqual(loaded, each.loads === undefined ? [] : [each.loads]);
    assert.deepEqual(admin.plane.json, BEFORE, 'the config in force changes by a load only');
  });
}

const SET_PORT: Write = { name: '', method: 'POST', path: '/config/apps/http/port', body: 81, status: 200 };

test('If-Match with the tag of the path or of a parent lets a write through', async (t) => {
  const admin = await startAdmin(t);
  admin.plane.json = BEFORE;
  for (const path of ['/config/apps/http/port', '/config/apps', '/config/']) {
    const tag = (await admin.request('GET', path)).headers.get('etag') ?? '';
    assert.equal(await write(admin, SET_PORT, { 'If-Match': tag }), 200, path);
  }
});

test('If-Match refuses a write over a change', async (t) => {
  const admin = await startAdmin(t);
  admin.plane.json = BEFORE;
  const tag = (await admin.request('GET', '/config/apps')).headers.get('etag') ?? '';
  admin.plane.json = withHttp({ list: [] });
  assert.equal(await write(admin, SET_PORT, { 'If-Match': tag }), 412);
  for (const malformed of ['*', '/config/ 0', '"/config/"', '"/config/ 0 0"', '"/elsewhere 0"']) {
    assert.equal(await write(admin, SET_PORT, { 'If-Match': malformed }), 400, malformed);
  }
  assert.deepEqual(admin.plane.loads, []);
});

const COOKIE = { policy: 'cookie', secret: 'first-secret' };

test('*** written over a secret keeps it, *** in a new place is refused', async (t) => {
  const admin = await startAdmin(t);
  admin.plane.json = { policies: [COOKIE] };
  const masked = { ...COOKIE, name: 'lb', secret: '***' };
  assert.equal(await write(admin, { ...SET_PORT, method: 'PATCH', path: '/config/policies/0', body: masked }), 200);
  assert.deepEqual(JSON.parse(admin.plane.loads[0]?.text ?? ''), { policies: [{ ...masked, secret: 'first-secret' }] });
  assert.equal(await write(admin, { ...SET_PORT, method: 'PUT', path: '/config/policies/0', body: masked }), 400);
  const whole = { headers: JSON_TYPE, body: JSON.stringify({ policies: [masked] }) };
  assert.equal((await admin.request('POST', '/load', whole)).status, 200);
  assert.match(admin.plane.loads[1]?.text ?? '', /first-secret/);
});

test('writes demand JSON', async (t) => {
  const admin = await startAdmin(t);
  admin.plane.json = BEFORE;
  for (const type of ['text/plain', 'text/caddyfile']) {
    assert.equal(await write(admin, SET_PORT, { 'Content-Type': type }), 400);
  }
  const reply = await admin.request('POST', '/config/apps', { headers: JSON_TYPE, body: '{' });
  assert.equal(reply.status, 400);
  assert.deepEqual(admin.plane.loads, []);
});
