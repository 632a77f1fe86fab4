import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { eventually } from '../../../test/support/backend.ts';
import { TestAuthority } from '../../../test/support/certificates.ts';
import { makeCredential } from '../../control-plane/certificates/pem.ts';
import { systemClock } from '../../shared/clock.ts';
import { resetSocket } from '../../shared/net/reset.ts';
import type { TlsPolicyPlan } from '../../shared/plan/tls.ts';
import {
  SERVER_HANDSHAKES,
  SERVER_HANDSHAKES_FAILED,
  SERVER_HANDSHAKES_RESUMED,
} from '../../shared/state-table/layout.ts';
import { StateTable } from '../../shared/state-table/table.ts';
import { TimerWheel } from '../wheel.ts';
import { TlsFront } from './front.ts';
import { TlsPolicies } from './policies.ts';

const OPTIONS = { timeout: 60_000 };

const POLICY: TlsPolicyPlan = {
  sni: [],
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  ciphers: 'TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256',
  curves: 'auto',
  alpn: ['http/1.1'],
  clientAuth: null,
  anyTag: [],
  allTags: [],
  defaultSni: '',
  fallbackSni: '',
};

interface Bench {
  readonly port: number;
  readonly ca: string;
  readonly front: TlsFront;
  readonly secured: { readonly socket: TLSSocket; readonly raw: Socket; readonly name: string }[];
  readonly failed: unknown[];
  total(word: number): number;
}

/** A front behind a real listener, with a certificate for `a.test`. */
async function bench(t: TestContext, handshakeTimeoutMs = 10_000): Promise<Bench> {
  const authority = await TestAuthority.create(t);
  const { certificate, key } = await authority.leaf('a', ['a.test']);
  const table = new StateTable();
  table.grow('server', 0, 0);
  const secured: Bench['secured'] = [];
  const failed: unknown[] = [];
  const front = new TlsFront({
    wheel: new TimerWheel(systemClock),
    servers: table.servers(0),
    onSecure: (socket, raw, { serverName: name }) => void secured.push({ socket, raw, name }),
    onFailed: (place) => void failed.push(place),
    ask: () => {},
    warn: (message) => assert.fail(message),
  });
  front.updateCertificates([makeCredential(certificate, key, []).plan], []);
  const plan = { listeners: ['tcp/:1'], policies: [POLICY], handshakeTimeoutMs, strictSniHost: false };
  const policies = new TlsPolicies(plan);
  const server = createServer((socket) => front.accept(policies, 0, socket, 'tcp/:1', null)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    front.resetAll();
    for (const { raw } of secured) raw.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    ca: authority.root.certificate,
    front,
    secured,
    failed,
    total: (word) => table.servers(0).total(0, word),
  };
}

/** Clients and relays end with their test, also with one that failed: an open socket would keep the process. */
function dialTls(t: TestContext, options: ConnectionOptions): TLSSocket {
  const socket = connectTls(options);
  t.after(() => socket.destroy());
  return socket;
}

function dial(t: TestContext, port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  return socket;
}

async function ended(socket: Socket): Promise<string> {
  const [error] = (await Promise.race([
    once(socket, 'close').then(() => [null]),
    new Promise((resolve) => socket.once('error', (fault) => resolve([fault]))),
  ])) as [NodeJS.ErrnoException | null];
  return error?.code ?? 'closed';
}

test('a handshake comes out with the TCP socket under it', OPTIONS, async (t) => {
  const { port, ca, front, secured, total } = await bench(t);
  const client = dialTls(t, { port, host: '127.0.0.1', ca, servername: 'A.test' });
  await once(client, 'secureConnect');
  await eventually(() => secured.length === 1, 'the end of the handshake here');
  const [connection] = secured;
  assert.equal(connection?.name, 'a.test');
  assert.equal(connection?.raw.remotePort, client.localPort);
  assert.equal(front.size, 0);
  assert.deepEqual([SERVER_HANDSHAKES, SERVER_HANDSHAKES_RESUMED, SERVER_HANDSHAKES_FAILED].map(total), [1, 0, 0]);
  client.destroy();
});

test('the TCP socket resets a connection: nobody takes it for a clean end', OPTIONS, async (t) => {
  const { port, ca, secured } = await bench(t);
  const client = dialTls(t, { port, host: '127.0.0.1', ca, servername: 'a.test' });
  await once(client, 'secureConnect');
  await eventually(() => secured.length === 1, 'the end of the handshake here');
  const { socket, raw } = secured[0]!;
  socket.write('the begin of a response');
  resetSocket(socket, raw);
  const end = ended(client);
  client.resume();
  assert.equal(await end, 'ECONNRESET');
});

test('a ClientHello that comes byte by byte is understood', OPTIONS, async (t) => {
  const { port, ca, secured } = await bench(t);
  const relay = createServer((near) => {
    const far = dial(t, port);
    far.setNoDelay(true);
    for (const socket of [near, far]) socket.on('error', () => {});
    let sent = 0;
    near.on('data', (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += 1) {
        far.write(chunk.subarray(at, at + 1));
        sent += 1;
      }
    });
    far.on('data', (chunk) => near.write(chunk));
    near.on('close', () => far.destroy());
    t.after(() => assert.ok(sent > 200));
  }).listen(0, '127.0.0.1');
  t.after(() => relay.close());
  await once(relay, 'listening');
  const client = dialTls(t, {
    port: (relay.address() as AddressInfo).port,
    host: '127.0.0.1',
    ca,
    servername: 'a.test',
  });
  await once(client, 'secureConnect');
  await eventually(() => secured.length === 1, 'the end of the handshake here');
  client.destroy();
});

test('a client that says nothing, or half of a ClientHello, is reset when its time is over', OPTIONS, async (t) => {
  const { port, failed, front, total } = await bench(t, 50);
  for (const bytes of ['', '\x16\x03\x01\x02']) {
    const client = dial(t, port);
    client.write(bytes, 'latin1');
    assert.equal(await ended(client), 'ECONNRESET');
  }
  assert.deepEqual(failed, [null, null]);
  assert.equal(front.size, 0);
  assert.equal(total(SERVER_HANDSHAKES_FAILED), 2);
});

test('a client that stops behind its ClientHello is reset when its time is over', OPTIONS, async (t) => {
  const { port, failed } = await bench(t, 50);
  const relay = createServer((near) => {
    const far = dial(t, port);
    for (const socket of [near, far]) socket.on('error', () => {});
    near.once('data', (chunk) => far.write(chunk));
    far.resume();
    far.on('close', () => near.destroy());
    near.on('close', () => far.destroy());
  }).listen(0, '127.0.0.1');
  t.after(() => relay.close());
  await once(relay, 'listening');
  const client = dialTls(t, { port: (relay.address() as AddressInfo).port, host: '127.0.0.1', servername: 'a.test' });
  await ended(client);
  assert.equal(failed.length, 1);
});

test('certificates that are dropped are not shown any more', OPTIONS, async (t) => {
  const { port, ca, front, secured } = await bench(t);
  const options = { port, host: '127.0.0.1', ca, servername: 'a.test' };
  const first = dialTls(t, options);
  await once(first, 'secureConnect');
  const authority = await TestAuthority.create(t);
  const { certificate, key } = await authority.leaf('b', ['b.test']);
  await eventually(() => secured.length === 1, 'the end of the handshake here');
  const [shown] = secured;
  const dropped = makeCredential(certificate, key, []).plan;
  front.updateCertificates([dropped], []);
  const second = dialTls(t, { ...options, ca: authority.root.certificate, servername: 'b.test' });
  await once(second, 'secureConnect');
  front.updateCertificates([], [dropped.id]);
  assert.equal(await ended(dialTls(t, { ...options, servername: 'b.test' })), 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME');
  assert.equal(shown?.raw.destroyed, false, 'connections made before go on');
  for (const client of [first, second]) client.destroy();
});
