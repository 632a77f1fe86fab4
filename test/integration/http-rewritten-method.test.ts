/** A rewrite changes the method that goes upstream; the answer is still framed for the one the client sent. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { site, startBalancer } from '../support/balance.ts';
import { openClient, type RawClient } from '../support/raw-client.ts';
import { OK, startRecorder } from '../support/recorder.ts';

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n';

async function start(t: TestContext, method: string, answer: string): Promise<RawClient> {
  const upstream = await startRecorder(t, (socket) => void socket.write(answer, 'latin1'));
  const balancer = await startBalancer(t, site(`method ${method}\nreverse_proxy 127.0.0.1:${upstream.port}`));
  return openClient(balancer.port);
}

/** Two requests on one connection: a body that must not be there would be read as the second answer. */
async function askTwice(client: RawClient, method: string): Promise<void> {
  const request = `${method} / HTTP/1.1\r\nHost: a\r\n\r\n`;
  for (let count = 0; count < 2; count += 1) {
    const response = await client.send(request).response(method);
    assert.deepEqual([response.status, response.body], [200, '']);
  }
  client.close();
}

for (const [framing, answer] of [
  ['of known length', OK],
  ['in chunks', CHUNKED],
] as const) {
  test(`a HEAD that goes upstream as GET is answered without the body, ${framing}`, async (t) => {
    await askTwice(await start(t, 'GET', answer), 'HEAD');
  });
}

test('a GET that goes upstream as HEAD gets an empty body, not the length of one that does not come', async (t) => {
  await askTwice(await start(t, 'HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'), 'GET');
});

test('an answer of our own to HEAD has no body, whatever the method became', async (t) => {
  const balancer = await startBalancer(t, site('route {\nmethod GET\nrespond hello\n}'));
  await askTwice(await openClient(balancer.port), 'HEAD');
});
