/** The value of the affinity cookie: what it holds, which values count, and how a site changes its secret. */
import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { deriveTokenKey, digestIdentity, sealToken } from '../../src/data-plane/select/cookie-token.ts';
import { startBackend, type Backend } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { cookiesOf, visit } from '../support/cookies.ts';
import { proxyTo, site } from '../support/site.ts';

const SECRET = 'first-secret-0123456789-0123456789-0123456789';
const NEXT_SECRET = 'second-secret-0123456789-0123456789-0123456789';
const NAMES = ['one', 'two', 'three'] as const;

async function startServers(t: TestContext): Promise<Backend[]> {
  return Promise.all(NAMES.map((name) => startBackend(t, name)));
}

/** New clients take turns, so that every server is met. */
function cookieSite(servers: readonly Backend[], options = `secret ${SECRET}`, name = 'lb'): string {
  return site(proxyTo(servers, `lb_policy cookie ${name} {\n${options}\nfallback round_robin\n}`));
}

function valueOf(cookie: string): string {
  return cookie.slice(cookie.indexOf('=') + 1);
}

/** A cookie as the balancer would have made it some minutes ago. */
function sealed(server: Backend, ageMinutes: number, secret = SECRET, name = 'lb'): string {
  const issuedMinutes = Math.floor(Date.now() / 60_000) - ageMinutes;
  const content = { issuedMinutes, digest: digestIdentity(`127.0.0.1:${server.port}`) };
  return `lb=${sealToken(deriveTokenKey(secret), name, content, randomBytes(12))}`;
}

test('every client gets a value of its own, all of one length, that names no server', async (t) => {
  const servers = await startServers(t);
  const balancer = await startBalancer(t, cookieSite(servers), { workers: 2 });
  const values: string[] = [];
  for (let client = 0; client < 60; client += 1) values.push(valueOf((await visit(balancer.port)).cookie));
  assert.equal(new Set(values).size, 60);
  assert.deepEqual(new Set(values.map((value) => value.length)), new Set([56]));
  const hints = servers.flatMap(({ port }) => {
    const address = `127.0.0.1:${port}`;
    const digest = createHash('sha256').update(address).digest();
    return [Buffer.from('127.0.0.1'), Buffer.from(String(port)), digest.subarray(0, 8), Buffer.from([127, 0, 0, 1])];
  });
  for (const value of values) {
    assert.match(value, /^[\w-]+$/);
    for (const hint of hints) assert.equal(Buffer.from(value, 'base64url').includes(hint), false, value);
  }
});

test('a valid cookie leads to its server over both workers, and no cookie is set again', async (t) => {
  const servers = await startServers(t);
  const balancer = await startBalancer(t, cookieSite(servers), { workers: 2 });
  for (const [server, cookie] of await cookiesOf(balancer.port, NAMES)) {
    for (let again = 0; again < 12; again += 1) {
      const next = await visit(balancer.port, cookie);
      assert.equal(next.server, server);
      assert.deepEqual(next.given, []);
    }
  }
});

test('edited, made-up and foreign values are replaced once, and the replacement stays', async (t) => {
  const servers = await startServers(t);
  const balancer = await startBalancer(t, cookieSite(servers), { workers: 2 });
  const good = valueOf((await visit(balancer.port)).cookie);
  const flip = (at: number): string => good.slice(0, at) + (good[at] === 'A' ? 'B' : 'A') + good.slice(at + 1);
  const bad = [
    'garbage',
    '',
    ...[0, 1, 2, 20, 30, 40, 55].map(flip),
    good.slice(1),
    `${good}A`,
    good.toLowerCase(),
    valueOf(sealed(servers[0]!, 0, NEXT_SECRET)),
    valueOf(sealed(servers[0]!, 0, SECRET, 'other')),
    createHmac('sha256', NEXT_SECRET).update(`127.0.0.1:${servers[0]!.port}`).digest('hex'),
    `127.0.0.1:${servers[0]!.port}`,
    '"quoted"',
    'a'.repeat(3000),
  ];
  for (const value of bad) {
    const first = await visit(balancer.port, `lb=${value}`);
    assert.equal(first.status, 200);
    assert.equal(first.given.length, 1, `'${value.slice(0, 80)}' is replaced`);
    for (let again = 0; again < 2; again += 1) {
      const next = await visit(balancer.port, first.cookie);
      assert.deepEqual([next.server, next.given], [first.server, []]);
    }
  }
});

test('of two cookies of one name the first counts', async (t) => {
  const servers = await startServers(t);
  const balancer = await startBalancer(t, cookieSite(servers));
  const cookies = await cookiesOf(balancer.port, NAMES);
  const next = await visit(balancer.port, `a=b; ${cookies.get('two')}; ${cookies.get('one')}; z`);
  assert.deepEqual([next.server, next.given], ['two', []]);
});

test('a secret is changed by reloads without a client losing its server', async (t) => {
  const servers = await startServers(t);
  const balancer = await startBalancer(t, cookieSite(servers), { workers: 2 });
  const old = await cookiesOf(balancer.port, NAMES);
  await balancer.reload(cookieSite(servers, `secret ${NEXT_SECRET}\nsecret ${SECRET}`));
  for (const [server, cookie] of old) {
    const next = await visit(balancer.port, cookie);
    assert.deepEqual([next.server, next.given], [server, []], 'the old secret still verifies');
  }
  const fresh = await cookiesOf(balancer.port, NAMES);
  await balancer.reload(cookieSite(servers, `secret ${NEXT_SECRET}`));
  for (const [server, cookie] of fresh) {
    const next = await visit(balancer.port, cookie);
    assert.deepEqual([next.server, next.given], [server, []], 'the new secret signed it');
  }
  for (const cookie of old.values())
    assert.equal((await visit(balancer.port, cookie)).given.length, 1, 'the old one is over');
});

test('past half of its lifetime a cookie is renewed for the same server, past all of it there is none', async (t) => {
  const servers = await startServers(t);
  const balancer = await startBalancer(t, cookieSite(servers, `secret ${SECRET}\ncookie_lifetime 3600`));
  const [, two] = servers;
  const young = await visit(balancer.port, sealed(two!, 28));
  assert.deepEqual([young.server, young.given], ['two', []]);
  for (const age of [32, 58]) {
    const ageing = await visit(balancer.port, sealed(two!, age));
    assert.deepEqual([ageing.server, ageing.given.length], ['two', 1], `${age} minutes old`);
    assert.match(ageing.given[0]!, /; Max-Age=3600(;|$)/);
    const renewed = await visit(balancer.port, ageing.cookie);
    assert.deepEqual([renewed.server, renewed.given], ['two', []]);
  }
  const servedTo = new Set<string>();
  for (let client = 0; client < 3; client += 1) {
    const late = await visit(balancer.port, sealed(two!, 62));
    assert.equal(late.given.length, 1);
    servedTo.add(late.server);
  }
  assert.equal(servedTo.size, 3, 'they are new clients to the fallback');
});

test('a session cookie has no Max-Age and does not age', async (t) => {
  const servers = await startServers(t);
  const balancer = await startBalancer(t, cookieSite(servers));
  assert.doesNotMatch((await visit(balancer.port)).given[0]!, /max-age|expires/i);
  const old = await visit(balancer.port, sealed(servers[2]!, 60 * 24 * 400));
  assert.deepEqual([old.server, old.given], ['three', []]);
});

test('values of Caddy are accepted as they are, and written with format caddy', async (t) => {
  const servers = await startServers(t);
  const caddyValue = ({ port }: Backend): string =>
    createHmac('sha256', SECRET).update(`127.0.0.1:${port}`).digest('hex');
  const balancer = await startBalancer(t, cookieSite(servers));
  for (const server of servers) {
    const next = await visit(balancer.port, `lb=${caddyValue(server)}`);
    assert.deepEqual([next.server, next.given], [server.name, []]);
  }
  const ours = await cookiesOf(balancer.port, NAMES);
  await balancer.reload(cookieSite(servers, `secret ${SECRET}\nformat caddy`));
  const theirs = await cookiesOf(balancer.port, NAMES);
  for (const server of servers) {
    assert.equal(valueOf(theirs.get(server.name)!), caddyValue(server));
    const next = await visit(balancer.port, ours.get(server.name));
    assert.deepEqual([next.server, next.given], [server.name, []], 'a cookie of the other format goes on');
  }
});

test('two balancers with one secret read each other, whatever order they list the servers in', async (t) => {
  const servers = await startServers(t);
  const left = await startBalancer(t, cookieSite(servers));
  const right = await startBalancer(t, cookieSite(servers.toReversed()));
  for (const [server, cookie] of await cookiesOf(left.port, NAMES)) {
    const next = await visit(right.port, cookie);
    assert.deepEqual([next.server, next.given], [server, []]);
  }
});

test('without a configured secret cookies survive a restart that has the data directory, and no other', async (t) => {
  const servers = await startServers(t);
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  const warnings: string[] = [];
  const onWarnings = (list: readonly { readonly message: string }[]): void =>
    void warnings.push(...list.map(({ message }) => message));
  const first = await startBalancer(t, cookieSite(servers, ''), { dataDir, onWarnings });
  assert.ok(
    warnings.some((message) => message.includes('no secret')),
    warnings.join('\n'),
  );
  const cookies = await cookiesOf(first.port, NAMES);
  await first.stop();
  const second = await startBalancer(t, cookieSite(servers, ''), { dataDir });
  for (const [server, cookie] of cookies) {
    const next = await visit(second.port, cookie);
    assert.deepEqual([next.server, next.given], [server, []]);
  }
  const elsewhere = await startBalancer(t, cookieSite(servers, ''));
  assert.equal((await visit(elsewhere.port, cookies.get('one'))).given.length, 1);
});
