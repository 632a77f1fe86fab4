/** Programs that tell a site who its client is, in a PROXY header. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { eventually } from '../support/backend.ts';
import { startBalancer } from '../support/balance.ts';
import {
  findProgram,
  freePort,
  runProgram,
  startServer,
  temporaryFolder,
  unlessInstalled,
} from '../support/program.ts';
import { get } from '../support/raw-client.ts';
import { site } from '../support/site.ts';
import { getTls } from '../support/tls-client.ts';
import { startTlsSite } from '../support/tls-site.ts';

const OPTIONS = { timeout: 120_000 };
const HAPROXY = findProgram('haproxy');
const CURL = findProgram('curl');
const WRAPPERS = 'listener_wrappers {\nproxy_protocol {\nallow 127.0.0.1\nfallback_policy reject\n}\ntls\n}';
const WHO = '\trespond "{remote_host} {http.request.local.port} {client_ip}"';

/** HAProxy in front of 127.0.0.1:`to`; returns its port. */
async function startHaproxy(t: TestContext, to: number, send: string): Promise<number> {
  const port = await freePort();
  const config = join(await temporaryFolder(t), 'haproxy.cfg');
  await writeFile(
    config,
    `defaults
  mode tcp
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen test
  bind 127.0.0.1:${port}
  server one 127.0.0.1:${to} ${send}
`,
  );
  await startServer(t, HAPROXY!, ['-db', '-f', config], port);
  return port;
}

describe('HAProxy', { skip: unlessInstalled(HAPROXY, 'haproxy') }, () => {
  for (const send of ['send-proxy', 'send-proxy-v2', 'send-proxy-v2 proxy-v2-options crc32c,unique-id']) {
    test(`${send} in front of a site`, OPTIONS, async (t) => {
      const { port } = await startBalancer(t, site(WHO, { servers: WRAPPERS }));
      const front = await startHaproxy(t, port, send);
      assert.equal((await get(front, '/', {}, '127.0.9.1')).body, `127.0.9.1 ${front} 127.0.9.1`);
    });

    test(`${send} in front of a site over HTTPS that it does not end`, OPTIONS, async (t) => {
      const tls = await startTlsSite(t, { body: WHO, globals: `servers {\n${WRAPPERS}\n}` });
      const front = await startHaproxy(t, tls.port, send);
      const { body } = await getTls(front, tls.trusting);
      assert.equal(body, `127.0.0.1 ${front} 127.0.0.1`);
    });
  }

  test('its checks, whose header names nobody, find the site up', OPTIONS, async (t) => {
    const balancer = await startBalancer(t, site(WHO, { servers: WRAPPERS }));
    const front = await startHaproxy(t, balancer.port, 'send-proxy-v2 check inter 100ms fall 1');
    await eventually(
      async () => /^holdfast_http_connections_accepted_total\{.*\} [5-9]/m.test(await balancer.metrics()),
      'checks',
    );
    assert.equal((await get(front, '/', {}, '127.0.9.1')).status, 200);
  });
});

test('curl --haproxy-protocol', { ...OPTIONS, skip: unlessInstalled(CURL, 'curl') }, async (t) => {
  const { port } = await startBalancer(t, site(WHO, { servers: WRAPPERS }));
  const { stdout } = await runProgram(CURL!, ['-s', '--haproxy-protocol', `http://127.0.0.1:${port}/`]);
  assert.equal(stdout, `127.0.0.1 ${port} 127.0.0.1`);
});
