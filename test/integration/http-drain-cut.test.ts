/** A drain whose deadline has come ends the work of a server, and requests that can go elsewhere do. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { AdminApi } from '../support/admin-api.ts';
import { eventually } from '../support/backend.ts';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { openClient } from '../support/raw-client.ts';
import { OK, startRecorder, type Recorder } from '../support/recorder.ts';
import { proxyTo, site } from '../support/site.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

interface Setting {
  readonly leaving: Recorder;
  readonly staying: Recorder;
  readonly balancer: TestBalancer;
  cut(): Promise<void>;
}

/** `leaving` is the first choice. It answers its first request and none after it. */
async function start(t: TestContext): Promise<Setting> {
  const leaving = await startRecorder(t, (socket, _, index) => void (index === 0 && socket.write(OK)));
  const staying = await startRecorder(t, (socket) => void socket.write(OK.replace('ok', 'no')));
  const balancer = await startBalancer(
    t,
    site(proxyTo([leaving, staying], 'lb_policy first'), { admin: '127.0.0.1:0' }),
  );
  const cut = async (): Promise<void> => {
    const body = { admin_state: 'drain', drain: '100ms' };
    const { status, text } = await new AdminApi(balancer).patch(`/upstreams/127.0.0.1:${leaving.port}`, body);
    assert.equal(status, 200, text);
  };
  return { leaving, staying, balancer, cut };
}

test('a GET on a connection used before is not sent again to the server that was drained under it', async (t) => {
  const { leaving, staying, balancer, cut } = await start(t);
  const client = await openClient(balancer.port);
  assert.equal((await client.send(GET).response()).body, 'ok');
  client.send(GET);
  await eventually(() => leaving.requests.length === 2, 'the second request');
  assert.equal(leaving.requests[1]!.connection, 0);
  await cut();
  assert.equal((await client.response()).body, 'no');
  assert.deepEqual([leaving.requests.length, staying.requests.length, leaving.open()], [2, 1, 0]);
  // Ended by us: the server did nothing wrong.
  assert.doesNotMatch(await balancer.metrics(), /^holdfast_upstream_failures_total\{.*\} [1-9]/m);
  client.close();
});
