/** The Express example with three servers: what a client sees when its server dies, with sessions in memory and in Redis. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import {
  findProgram,
  freePort,
  startServer,
  temporaryFolder,
  unlessInstalled,
  type Program,
} from '../support/program.ts';

const FOLDER = fileURLToPath(new URL('../../examples/express/', import.meta.url));
const REDIS = findProgram('redis-server');

interface Site {
  readonly balancer: TestBalancer;
  readonly servers: ReadonlyMap<string, Program>;
}

async function startSite(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Site> {
  const names = ['app1', 'app2', 'app3'];
  const started = names.map(async (name) => {
    const port = await freePort();
    const options = { cwd: FOLDER, env: { PORT: String(port), NAME: name, ...env } };
    return { name, port, program: await startServer(t, process.execPath, ['server.js'], port, options) };
  });
  const servers = await Promise.all(started);
  const addresses = servers.map(({ name, port }) => [name.toUpperCase(), `127.0.0.1:${port}`] as const);
  const balancer = await startBalancer(t, readFileSync(`${FOLDER}Caddyfile`, 'utf8'), {
    env: { PORT: '0', ...Object.fromEntries(addresses) },
    admin: false,
  });
  return { balancer, servers: new Map(servers.map(({ name, program }) => [name, program])) };
}

interface SessionView {
  readonly server: string;
  readonly user: string | null;
  readonly views: number;
  readonly client: string;
  readonly affinity: string;
  readonly cookies: readonly string[];
}

/** A browser: one cookie jar. */
class Visitor {
  readonly #base: string;
  readonly #jar = new Map<string, string>();
  /** Names of the cookies the last answer set, each as often as it did. */
  given: string[] = [];

  constructor(port: number) {
    this.#base = `http://127.0.0.1:${port}`;
  }

  async login(user: string): Promise<{ readonly server: string }> {
    return this.#ask('/api/login', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ user }),
    });
  }

  async session(): Promise<SessionView> {
    return this.#ask('/api/session', {});
  }

  async #ask<Answer>(path: string, init: RequestInit): Promise<Answer> {
    const cookie = [...this.#jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(this.#base + path, {
      ...init,
      headers: { ...init.headers, Cookie: cookie },
      signal: AbortSignal.timeout(20_000),
    });
    this.given = [];
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.given.push(name);
      this.#jar.set(name, value);
    }
    assert.equal(response.status, 200, path);
    return (await response.json()) as Answer;
  }
}

test('a client stays on its server, and each of them sees who the client is', async (t) => {
  const { balancer } = await startSite(t);
  const visitor = new Visitor(balancer.port);
  const { server } = await visitor.login('ada');
  assert.deepEqual(visitor.given.toSorted(), ['app_home', 'connect.sid']);
  for (let views = 1; views <= 5; views += 1) {
    assert.deepEqual(await visitor.session(), {
      server,
      user: 'ada',
      views,
      client: '127.0.0.1',
      affinity: 'hit',
      cookies: ['app_home', 'connect.sid'],
    });
    assert.deepEqual(visitor.given, []);
  }
  const others = await Promise.all(['bob', 'eve'].map((name) => new Visitor(balancer.port).login(name)));
  assert.deepEqual([server, ...others.map((other) => other.server)].toSorted(), ['app1', 'app2', 'app3']);
});

test('with sessions in memory the death of a server costs its clients, and only them, their login', async (t) => {
  const { balancer, servers } = await startSite(t);
  const ada = new Visitor(balancer.port);
  const bob = new Visitor(balancer.port);
  const { server } = await ada.login('ada');
  const { server: other } = await bob.login('bob');
  assert.notEqual(server, other);
  await servers.get(server)!.end();
  const moved = await ada.session();
  assert.equal(moved.affinity, 'moved');
  assert.equal(moved.user, null);
  assert.notEqual(moved.server, server);
  assert.deepEqual(ada.given, ['app_home'], 'one new cookie of the balancer, none of the application');
  const again = await ada.login('ada');
  assert.equal(again.server, moved.server, 'the new home is kept');
  assert.equal((await ada.session()).user, 'ada');
  const stayed = await bob.session();
  assert.deepEqual([stayed.server, stayed.user, stayed.affinity], [other, 'bob', 'hit']);
});

test(
  'with sessions in Redis the client moves and is still logged in',
  { skip: unlessInstalled(REDIS, 'redis-server') },
  async (t) => {
    const redisPort = await freePort();
    const args = ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const redis = await startServer(t, REDIS!, [...args, '--dir', await temporaryFolder(t)], redisPort);
    const { balancer, servers } = await startSite(t, { REDIS_URL: `redis://127.0.0.1:${redisPort}` });
    const ada = new Visitor(balancer.port);
    const { server } = await ada.login('ada');
    assert.deepEqual((await ada.session()).views, 1);
    await servers.get(server)!.end();
    const moved = await ada.session();
    assert.deepEqual([moved.affinity, moved.user, moved.views], ['moved', 'ada', 2]);
    assert.notEqual(moved.server, server);
    assert.deepEqual(ada.given, ['app_home']);
    const health = async (): Promise<{ status: string; cache: string; pool: { total: number } }> =>
      (await (await fetch(`http://127.0.0.1:${balancer.port}/healthz`)).json()) as Awaited<ReturnType<typeof health>>;
    const { status, cache, pool } = await health();
    assert.deepEqual([status, cache], ['ok', 'redis']);
    assert.ok(pool.total >= 1);
    await redis.end();
    assert.equal((await health()).status, 'ok', 'a cache that all share takes no server down');
  },
);

test('the check takes a server that hangs out of service', async (t) => {
  const { balancer, servers } = await startSite(t);
  const ada = new Visitor(balancer.port);
  const { server } = await ada.login('ada');
  const hung = servers.get(server)!.child;
  hung.kill('SIGSTOP');
  t.after(() => hung.kill('SIGCONT'));
  await eventually(() => balancer.upstreams().some(({ state }) => state === 'down'), 'the check to notice');
  assert.equal((await ada.session()).affinity, 'moved');
});
