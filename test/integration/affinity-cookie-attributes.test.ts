/** The Set-Cookie line on the wire: attributes by scheme, beside the server's own lines, on upgrades, through two balancers. */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test, type TestContext } from 'node:test';
import { startBackend, startScripted, type Backend } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { visit } from '../support/cookies.ts';
import { get, openClient, type RawResponse } from '../support/raw-client.ts';
import { proxyTo, site, type SiteOptions } from '../support/site.ts';

const SECRET = 'secret a-secret-of-this-test-0123456789-0123456789';
const STRANGER = '127.0.0.2';
const TRUSTED = { servers: 'trusted_proxies static 127.0.0.1/32' };

interface World {
  readonly server: Backend;
  readonly balancer: TestBalancer;
}

async function startWorld(
  t: TestContext,
  options: string,
  rest: string = '',
  siteOptions: SiteOptions = TRUSTED,
  listener?: RequestListener,
): Promise<World> {
  const server = await startBackend(t, 'one', listener);
  const second = await startBackend(t, 'two');
  const policy = `lb_policy cookie lb {\n${SECRET}\nfallback first\n${options}\n}`;
  const balancer = await startBalancer(t, site(proxyTo([server, second], `${policy}\n${rest}`), siteOptions));
  return { server, balancer };
}

/** Attributes of the affinity cookie, the value left out. */
function attributes(response: RawResponse, name = 'lb'): string[] {
  return response
    .headers('set-cookie')
    .filter((line) => line.startsWith(`${name}=`))
    .map((line) => line.slice(line.indexOf(';') + 2));
}

const PLAIN = 'Path=/; HttpOnly; SameSite=Lax';
const SECURE = 'Path=/; HttpOnly; Secure; SameSite=None';

test('plain http gives Lax, https told by a trusted proxy gives Secure and None, a stranger is not believed', async (t) => {
  const { balancer } = await startWorld(t, '');
  const ask = async (proto: string, from?: string): Promise<string[]> =>
    attributes(await get(balancer.port, '/a/b/c', proto === '' ? {} : { 'X-Forwarded-Proto': proto }, from));
  assert.deepEqual(await ask(''), [PLAIN]);
  assert.deepEqual(await ask('https'), [SECURE]);
  assert.deepEqual(await ask('HTTPS'), [SECURE]);
  assert.deepEqual(await ask('http'), [PLAIN]);
  assert.deepEqual(await ask('https', STRANGER), [PLAIN]);
  assert.deepEqual(await ask('http, https'), [SECURE], 'the nearest proxy wrote the right-most one');
});

test('what a browser sends back for another path is good there', async (t) => {
  const { balancer } = await startWorld(t, '');
  const first = await get(balancer.port, '/a/b/c');
  const [cookie = ''] = first.header('set-cookie')!.split(';');
  const second = await get(balancer.port, '/a/x', { Cookie: cookie });
  assert.deepEqual([second.body, second.headers('set-cookie')], [first.body, []]);
});

test('every attribute can be chosen', async (t) => {
  const all = 'path /app\ndomain a.test\nmax_age 90\nhttp_only off\nsame_site strict\nsecure on\npartitioned';
  const { balancer } = await startWorld(t, all);
  assert.deepEqual(attributes(await get(balancer.port)), [
    'Path=/app; Domain=a.test; Max-Age=90; Secure; SameSite=Strict; Partitioned',
  ]);
});

test('attributes browsers refuse on plain connections are not sent there', async (t) => {
  const { balancer } = await startWorld(t, 'same_site none\npartitioned');
  assert.deepEqual(attributes(await get(balancer.port)), [PLAIN]);
  assert.deepEqual(attributes(await get(balancer.port, '/', { 'X-Forwarded-Proto': 'https' })), [
    `${SECURE}; Partitioned`,
  ]);
});

const setsTwo: RequestListener = (_request, response) => {
  response.writeHead(200, [
    ...['Set-Cookie', 'session=1; Path=/app, Secure'],
    ...['VARY', 'x'],
    ...['set-cookie', 'theme=dark; Expires=Wed, 21 Oct 2037 07:28:00 GMT'],
    ...['Content-Length', '3'],
  ]);
  response.end('one');
};

test("the server's own cookies pass untouched and separate, the affinity cookie is one more line", async (t) => {
  const { balancer } = await startWorld(t, '', '', TRUSTED, setsTwo);
  const response = await get(balancer.port);
  const lines = response.fields.filter(([name]) => name.toLowerCase() === 'set-cookie');
  assert.deepEqual(lines.slice(0, 2), [
    ['Set-Cookie', 'session=1; Path=/app, Secure'],
    ['set-cookie', 'theme=dark; Expires=Wed, 21 Oct 2037 07:28:00 GMT'],
  ]);
  assert.equal(lines.length, 3);
  assert.match(lines[2]!.join(': '), /^Set-Cookie: lb=[\w-]{56}; /);
});

test('header operations on Set-Cookie change the lines of the server, never the affinity cookie', async (t) => {
  const operations = [
    ['header_down -Set-Cookie', []],
    [
      'header_down Set-Cookie "caddy_session; Path=/; Secure; HttpOnly; SameSite=Strict"',
      ['caddy_session; Path=/; Secure; HttpOnly; SameSite=Strict'],
    ],
    ['header_down Set-Cookie (session=1).* "$1"', ['session=1', 'theme=dark; Expires=Wed, 21 Oct 2037 07:28:00 GMT']],
  ] as const;
  for (const [operation, kept] of operations) {
    const { balancer } = await startWorld(t, '', operation, TRUSTED, setsTwo);
    const lines = (await get(balancer.port)).headers('set-cookie');
    assert.deepEqual(lines.slice(0, -1), kept, operation);
    assert.match(lines.at(-1)!, /^lb=[\w-]{56}; Path=\/; HttpOnly; SameSite=Lax$/, operation);
  }
});

test('the answer that switches protocols carries the cookie', async (t) => {
  const answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  const servers = await Promise.all(
    [0, 1].map(() => startScripted(t, (socket) => socket.once('data', () => socket.write(answer)))),
  );
  const balancer = await startBalancer(
    t,
    site(proxyTo(servers, `lb_policy cookie lb {\n${SECRET}\nfallback round_robin\n}`)),
  );
  const upgrade = async (cookie: string): Promise<RawResponse> => {
    const client = await openClient(balancer.port);
    t.after(() => client.close());
    const lines = [
      'GET /ws HTTP/1.1',
      'Host: x.test',
      'Connection: Upgrade',
      'Upgrade: websocket',
      ...(cookie === '' ? [] : [`Cookie: ${cookie}`]),
    ];
    return client.send(`${lines.join('\r\n')}\r\n\r\n`).response();
  };
  const first = await upgrade('');
  assert.equal(first.status, 101);
  assert.deepEqual(attributes(first), [PLAIN]);
  const [cookie = ''] = first.header('set-cookie')!.split(';');
  for (let again = 0; again < 3; again += 1) {
    const next = await upgrade(cookie);
    assert.deepEqual([next.status, attributes(next)], [101, []]);
  }
  assert.deepEqual(
    servers.map(({ sockets }) => sockets.length).toSorted((a, b) => a - b),
    [0, 4],
  );
});

test('answers the balancer makes itself carry no cookie', async (t) => {
  const { balancer } = await startWorld(t, '');
  for (const { upstream } of balancer.upstreams()) balancer.patchUpstream(upstream, { adminState: 'maint' });
  const refused = await visit(balancer.port);
  assert.deepEqual([refused.status, refused.given], [503, []]);
});

test('an error of the server is an answer like any other: it carries the cookie', async (t) => {
  const { balancer } = await startWorld(t, '', '', TRUSTED, (_request, response) => {
    response.statusCode = 500;
    response.end('one');
  });
  const response = await get(balancer.port);
  assert.deepEqual([response.status, attributes(response)], [500, [PLAIN]]);
});

test('two balancers in a row, each with a cookie of its own name, both keep the client where it is', async (t) => {
  const servers = await Promise.all(['one', 'two', 'three', 'four'].map((name) => startBackend(t, name)));
  const policy = (name: string): string => `lb_policy cookie ${name} {\n${SECRET}\nfallback round_robin\n}`;
  const inner = await Promise.all(
    [servers.slice(0, 2), servers.slice(2)].map((pair) =>
      startBalancer(t, site(proxyTo(pair, policy('inner')), TRUSTED)),
    ),
  );
  const outer = await startBalancer(t, site(proxyTo(inner, policy('outer'))));
  const seen = new Set<string>();
  for (let client = 0; client < 12; client += 1) {
    const first = await get(outer.port);
    assert.equal(attributes(first, 'inner').length + attributes(first, 'outer').length, 2);
    const cookie = first
      .headers('set-cookie')
      .map((line) => line.split(';')[0])
      .join('; ');
    for (let again = 0; again < 3; again += 1) {
      const next = await get(outer.port, '/', { Cookie: cookie });
      assert.deepEqual([next.body, next.headers('set-cookie')], [first.body, []]);
    }
    seen.add(first.body);
  }
  assert.equal(seen.size, 4);
});
