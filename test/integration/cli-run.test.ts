/** `run`, `reload` and `validate` as an operator uses them, over processes and files. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { runHoldfast } from '../cli/spawn.ts';
import { eventually, startBackend } from '../support/backend.ts';
import { get, openClient } from '../support/raw-client.ts';
import { folderWith, runUntilEnd, startRun } from '../support/run-process.ts';
import { proxyTo, site } from '../support/site.ts';

const OPTIONS = { timeout: 60_000 };
const ADMIN = { admin: '127.0.0.1:0' };

function saying(body: string, port = 0): string {
  return `{\n\tadmin 127.0.0.1:0\n}\nhttp://:${port} {\n\tbind 127.0.0.1\n\trespond ${body}\n}\n`;
}

/** A port that somebody else listens on until the test ends. */
async function takenPort(t: TestContext): Promise<number> {
  const server = createServer((socket) => void socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test(
  'a second instance on the same port ends with a sentence, and the first keeps every connection',
  OPTIONS,
  async (t) => {
    const first = await startRun(t, saying('first'), ['--workers', '2']);
    const { code, stderr } = await runUntilEnd(t, saying('second', first.port));
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`cannot listen on 127\\.0\\.0\\.1:${first.port}: address already in use`));
    assert.doesNotMatch(stderr, /\n\s+at /, 'no stack for a fault of the surroundings');
    for (let index = 0; index < 40; index += 1) assert.equal((await get(first.port)).body, 'first');
  },
);

test('a reload of a broken file tells file and line and leaves the old config serving', OPTIONS, async (t) => {
  const running = await startRun(t, saying('old'));
  const client = await openClient(running.port);
  const reload = (): ReturnType<typeof runHoldfast> =>
    runHoldfast(['reload', '--config', 'Caddyfile', '--address', running.admin], { cwd: running.folder });

  await running.rewrite(`${saying('new')}\nhttp://other.test:0 {\n\tno_such_directive here\n}\n`);
  const broken = await reload();
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /Caddyfile:10\b.*no_such_directive|no_such_directive.*Caddyfile:10\b/);

  await running.rewrite(saying('new', await takenPort(t)));
  const taken = await reload();
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, /address already in use/);

  client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  assert.equal((await client.response()).body, 'old', 'a connection from before is still served');
  assert.equal((await get(running.port)).body, 'old', 'and so are new ones');
  client.close();

  await running.rewrite(saying('new'));
  const good = await reload();
  assert.equal(good.code, 0, good.stderr);
  assert.equal((await get(running.port)).body, 'new', 'after the failures a good file is loaded');
});

test(
  'a wildcard that no challenge can prove is refused by run and validate, with the line and the remedy',
  OPTIONS,
  async (t) => {
    const caddyfile = '# a comment\n*.example.test {\n\trespond hello\n}\n';
    const { code, stderr } = await runUntilEnd(t, caddyfile);
    assert.equal(code, 1);
    assert.match(stderr, /Caddyfile:2\b/);
    assert.match(stderr, /tls internal/, 'it says what to write instead');
    const validate = await runHoldfast(['validate'], { cwd: await folderWith(t, caddyfile) });
    assert.equal(validate.code, 1);
    assert.match(validate.stderr, /DNS challenge.*Caddyfile:2\b/s);
  },
);

test('run prints the warnings of its config, and serves', OPTIONS, async (t) => {
  const servers = await Promise.all(['one', 'two'].map((name) => startBackend(t, name)));
  // An even number of servers under ip_hash depends on the parity of addresses.
  const running = await startRun(t, site(proxyTo(servers, 'lb_policy ip_hash'), ADMIN));
  assert.match(running.stderr(), /warning.*Caddyfile:\d+.*even|Caddyfile:\d+.*warning.*even/is);
  assert.equal((await get(running.port)).status, 200);
});

test('two workers serve one port, which :0 chose, and the log names it', OPTIONS, async (t) => {
  const running = await startRun(t, saying('hello'), ['--workers', '2']);
  assert.ok(running.port > 0);
  for (let index = 0; index < 30; index += 1) assert.equal((await get(running.port)).body, 'hello');
  const metrics = await (await fetch(`http://${running.admin}/metrics`)).text();
  assert.match(metrics, /^holdfast_workers\{state="serving"\} 2$/m);
  assert.match(metrics, /^holdfast_http_connections_accepted_total\{server="[^"]+"\} 30$/m);
});

test('the access log of a running balancer is JSON lines', OPTIONS, async (t) => {
  const backend = await startBackend(t, 'backend');
  const running = await startRun(t, site(proxyTo([backend]), ADMIN));
  await get(running.port, '/path?q=1', { Host: 'shop.test' });
  await eventually(() => running.stderr().includes('/path?q=1'), 'an access line');
  const line = running
    .stderr()
    .split('\n')
    .find((text) => text.includes('/path?q=1'))!;
  const record = JSON.parse(line) as Record<string, unknown>;
  assert.ok(JSON.stringify(record).includes('shop.test') && JSON.stringify(record).includes('200'), line);
});
