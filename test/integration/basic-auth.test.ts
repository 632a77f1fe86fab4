/** `basic_auth`: requests with a name and password of the list go on, others get a 401. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import { ask, get, openClient } from '../support/raw-client.ts';
import { proxyTo, site } from '../support/site.ts';

/** Of `sesame`. Cost 4: a check takes about a millisecond. */
const BCRYPT = '$2b$04$B1Y1/jf0ytrjOd9aA1v0cuvNJcpSAs0zTutBN.QOwce6JC1.CaF36';
/** Of `sesame`. Cost 12: a check takes hundreds of milliseconds. */
const SLOW = '$2b$12$vyNL5QNhX4whuLCIiL1Ztu7hyGD5YXdDc4yzh0tNVwFhrqzZnTl/W';
/** Of `sesame`. */
const ARGON2ID = '$argon2id$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$OQp8YeMUBvG4x+00oVFI7kWaxTZR2gt4mcips6gwLvc';

function basic(user: string, password: string): Record<string, string> {
  return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

for (const [algorithm, hash] of [
  ['bcrypt', BCRYPT],
  ['argon2id', ARGON2ID],
] as const) {
  test(`only the right name with the right password passes (${algorithm})`, async (t) => {
    const app = await startBackend(t, 'app');
    const balancer = await startBalancer(t, site(`basic_auth ${algorithm} {\nann ${hash}\n}\n${proxyTo([app])}`));
    for (const [user, password, status] of [
      ['ann', 'sesame', 200],
      ['ann', 'Sesame', 401],
      ['ann', '', 401],
      ['bob', 'sesame', 401],
      ['ann', 'sesame', 200],
      ['ann', 'Sesame', 401],
    ] as const) {
      const response = await get(balancer.port, '/', basic(user, password));
      assert.equal(response.status, status, `${user}:${password}`);
      assert.equal(response.header('www-authenticate'), status === 401 ? 'Basic realm="restricted"' : undefined);
    }
    assert.equal(app.requests.length, 2);
  });
}

test('whoever sends no credentials, or none of the form, is asked for them under the realm', async (t) => {
  const balancer = await startBalancer(t, site(`basic_auth bcrypt "the \\"vault" {\nann ${BCRYPT}\n}\nrespond in`));
  const headers = [{}, { Authorization: 'Basic' }, { Authorization: 'Basic !' }, { Authorization: 'Bearer YW5uOng=' }];
  for (const header of headers) {
    const response = await get(balancer.port, '/', header);
    assert.equal(response.status, 401);
    assert.equal(response.header('www-authenticate'), 'Basic realm="the \\"vault"');
  }
  assert.equal((await get(balancer.port, '/', basic('ann', 'sesame'))).body, 'in');
});

test('what stands behind it sees the user, and so does the access log', async (t) => {
  const app = await startBackend(t, 'app');
  const rules = `basic_auth /private/* {\nann ${BCRYPT}\n}\nheader X-User {http.auth.user.id}`;
  const balancer = await startBalancer(
    t,
    site(`${rules}\n${proxyTo([app], 'header_up X-Remote-User {http.auth.user.id}')}`),
  );
  const inside = await get(balancer.port, '/private/x', basic('ann', 'sesame'));
  const outside = await get(balancer.port, '/x');
  assert.deepEqual([inside.status, outside.status], [200, 200]);
  assert.deepEqual(
    app.requests.map(({ headers }) => headers['x-remote-user']),
    ['ann', ''],
  );
  await balancer.stop(0);
  assert.deepEqual(
    balancer.accessLines.map((line) => line['user_id']),
    ['ann', undefined],
  );
});

test('handlers and groups behind it run once, whatever list they stand in', async (t) => {
  const rules = `route {
    header X-Step +before
    handle /a* {
      basic_auth {
        ann ${BCRYPT}
      }
      header +X-Step inside
    }
    handle {
      header +X-Step other
    }
    header +X-Step after
    respond "{http.auth.user.id}"
  }`;
  const balancer = await startBalancer(t, site(rules));
  const response = await get(balancer.port, '/a', basic('ann', 'sesame'));
  assert.equal(response.body, 'ann');
  assert.deepEqual(response.headers('x-step'), ['+before', 'inside', 'after']);
});

test('error routes make the page of a 401, with its challenge, and may ask for a password themselves', async (t) => {
  const rules = `basic_auth /a {\nann ${BCRYPT}\n}\nerror /b "broken" 500\nrespond in
    handle_errors 401 {
      respond "sign in: {err.message}"
    }
    handle_errors 5xx {
      basic_auth {
        ann ${BCRYPT}
      }
      respond "{err.status_code} for {http.auth.user.id}"
    }`;
  const balancer = await startBalancer(t, site(rules));
  const refused = await get(balancer.port, '/a', basic('ann', 'wrong'));
  assert.deepEqual([refused.status, refused.body], [401, 'sign in: not authenticated']);
  assert.equal(refused.header('www-authenticate'), 'Basic realm="restricted"');
  const shown = await get(balancer.port, '/b', basic('ann', 'sesame'));
  assert.deepEqual([shown.status, shown.body], [500, '500 for ann']);
  assert.equal((await get(balancer.port, '/b', basic('ann', 'wrong'))).status, 401);
});

test('a body that comes while the password is checked reaches the server whole', async (t) => {
  const app = await startBackend(t, 'app');
  const balancer = await startBalancer(t, site(`basic_auth {\nann ${SLOW}\n}\n${proxyTo([app])}`));
  const authorization = `Authorization: ${basic('ann', 'sesame')['Authorization']}\r\n`;
  const fixed = 'x'.repeat(300_000);
  const head = `POST /1 HTTP/1.1\r\nHost: x.test\r\n${authorization}Content-Length: ${fixed.length}\r\n\r\n`;
  const client = await openClient(balancer.port);
  client.send(head + fixed);
  await client.until(() => app.bodies.length === 1);
  assert.equal(app.bodies[0]?.toString(), fixed);
  const chunks = 'Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n';
  await ask(balancer.port, `POST /2 HTTP/1.1\r\nHost: x.test\r\n${authorization}${chunks}`);
  assert.equal(app.bodies[1]?.toString(), 'abcde');
});

test('a body beyond its limit that comes while the password is checked is refused', async (t) => {
  const app = await startBackend(t, 'app');
  const rules = `request_body {\nmax_size 10\n}\nbasic_auth {\nann ${SLOW}\n}\n${proxyTo([app])}`;
  const balancer = await startBalancer(t, site(rules));
  const authorization = `Authorization: ${basic('ann', 'sesame')['Authorization']}\r\n`;
  const chunks = `Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n${'x'.repeat(32)}\r\n0\r\n\r\n`;
  const response = await ask(balancer.port, `POST / HTTP/1.1\r\nHost: x.test\r\n${authorization}${chunks}`);
  assert.equal(response.status, 413);
  assert.equal(app.requests.length, 0);
});

test('a request that waits is sent again with its kept body when the first server fails', async (t) => {
  const app = await startBackend(t, 'app');
  const rude = await startBackend(t, 'rude', (request) => void request.socket.destroy());
  const options = 'lb_policy first\nlb_try_duration 5s\nrequest_buffers 4KiB\nlb_retry_match {\nmethod POST\n}';
  const balancer = await startBalancer(t, site(`basic_auth {\nann ${SLOW}\n}\n${proxyTo([rude, app], options)}`));
  const authorization = `Authorization: ${basic('ann', 'sesame')['Authorization']}\r\n`;
  const request = `POST / HTTP/1.1\r\nHost: x.test\r\n${authorization}Content-Length: 5\r\nConnection: close\r\n\r\nhello`;
  assert.equal((await ask(balancer.port, request)).body, 'app');
  assert.equal(app.bodies[0]?.toString(), 'hello');
});

test('a password is checked behind a server that was asked first, and the body still goes where it belongs', async (t) => {
  const gate = await startBackend(t, 'gate');
  const app = await startBackend(t, 'app');
  const asked = `forward_auth 127.0.0.1:${gate.port} {\nuri /check\n}`;
  const balancer = await startBalancer(
    t,
    site(`route {\n${asked}\nbasic_auth {\nann ${SLOW}\n}\n${proxyTo([app])}\n}`),
  );
  const authorization = `Authorization: ${basic('ann', 'sesame')['Authorization']}\r\n`;
  const body = 'x'.repeat(100_000);
  const head = `POST /in HTTP/1.1\r\nHost: x.test\r\n${authorization}Content-Length: ${body.length}\r\n`;
  const response = await ask(balancer.port, `${head}Connection: close\r\n\r\n${body}`);
  assert.deepEqual([response.status, response.body], [200, 'app']);
  assert.equal(app.bodies[0]?.toString(), body);
  const refused = await get(balancer.port, '/in', basic('ann', 'wrong'));
  assert.deepEqual([refused.status, gate.requests.length, app.requests.length], [401, 2, 1]);
});

test('a worker serves others while it waits for a password', async (t) => {
  const balancer = await startBalancer(t, site(`basic_auth /slow {\nann ${SLOW}\n}\nrespond "{path}"`));
  const waiting = await openClient(balancer.port);
  waiting.send(`GET /slow HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic('ann', 'sesame')['Authorization']}\r\n\r\n`);
  assert.equal((await get(balancer.port, '/quick')).body, '/quick');
  assert.equal(waiting.received, '');
  await waiting.until(() => waiting.received.endsWith('/slow'));
});

test('a client that goes while its password is checked leaves nothing behind', async (t) => {
  const app = await startBackend(t, 'app');
  const balancer = await startBalancer(t, site(`basic_auth {\nann ${SLOW}\n}\n${proxyTo([app])}`));
  const client = await openClient(balancer.port);
  client.send(`GET /gone HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic('ann', 'sesame')['Authorization']}\r\n\r\n`);
  await client.until(() => true);
  client.socket.resetAndDestroy();
  assert.equal((await get(balancer.port, '/stays', basic('ann', 'sesame'))).status, 200);
  assert.deepEqual(
    app.requests.map(({ url }) => url),
    ['/stays'],
  );
});

test('a drain waits for a password that is being checked', async (t) => {
  const balancer = await startBalancer(t, site(`basic_auth /in {\nann ${SLOW}\n}\nrespond in`));
  const client = await openClient(balancer.port);
  client.send(`GET /in HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic('ann', 'sesame')['Authorization']}\r\n\r\n`);
  // The only worker has read the first request when it answers the second one.
  await get(balancer.port, '/out');
  const drained = balancer.drain(10_000);
  await client.until(() => client.end !== undefined);
  client.socket.destroy();
  await drained;
  assert.match(client.received, /^HTTP\/1.1 200 .*in$/s);
});

test('a config that lets nobody in, or that cannot check a password, is refused with its line', async (t) => {
  for (const [lines, why] of [
    ['basic_auth', /without accounts/],
    ['basic_auth {\nann sesame\n}', /neither bcrypt nor argon2id.*hash-password.*:\d+/],
    [`basic_auth {\nann ${BCRYPT.replace('$04$', '$20$')}\n}`, /bcrypt cost is 20: from 4 to 16/],
    [`basic_auth argon2id {\nann ${BCRYPT}\n}`, /write 'basic_auth bcrypt'/],
    [`basic_auth scrypt {\nann ${BCRYPT}\n}`, /unrecognized hash algorithm/],
    [`basic_auth {\nann ${BCRYPT}\nann ${BCRYPT}\n}`, /listed twice/],
  ] as const) {
    await assert.rejects(startBalancer(t, site(`${lines}\nrespond in`)), why);
  }
});
