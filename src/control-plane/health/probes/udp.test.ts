import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '../../../shared/clock.ts';
import { attempt } from '../attempt.ts';
import type { Echo, EchoAnswer } from '../echo.ts';
import type { Probe, ProbeOptions, ProbeResult } from '../probe.ts';
import { plainOptions, untilDecided } from '../tcp-probe.contract.ts';
import { startDatagramServer } from '../udp-probe.contract.ts';
import { openDatagrams } from './datagrams.ts';
import { REFUSAL_MEMORY_MS, udpCheck } from './udp.ts';

const REPLY: EchoAnswer = { outcome: 'reply', roundTripMs: 3 };

function echoOf(answer: EchoAnswer): Echo {
  return { ask: () => Promise.resolve(answer) };
}

function portCheck(echo: EchoAnswer | null): Probe {
  return udpCheck({ kind: 'udp', echo: echo !== null, payload: 'hello', expect: null }, echoOf(echo ?? REPLY));
}

function run(probe: Probe, port: number, given: Partial<ProbeOptions> = {}): Promise<ProbeResult> {
  const deps = { clock: systemClock, signal: new AbortController().signal };
  return untilDecided(() => probe.run({ host: '127.0.0.1', port }, { ...plainOptions(100), ...given }, deps));
}

test('silence passes when the host answers an echo request, with the round trip of the echo', async () => {
  const server = await startDatagramServer(() => {});
  const result = await run(portCheck(REPLY), server.port);
  await server.close();
  assert.equal(result.outcome, 'pass', result.detail);
  assert.equal(result.roundTripMs, 3);
  // A run that this machine was too slow for is repeated.
  assert.deepEqual(new Set(server.received.map(String)), new Set(['hello']));
});

test('silence of a host without echo fails as NO_ECHO', async () => {
  const server = await startDatagramServer(() => {});
  const result = await run(portCheck({ outcome: 'none' }), server.port);
  await server.close();
  assert.equal(result.reason, 'NO_ECHO');
});

test('with echo off silence is a pass without a round trip', async () => {
  const server = await startDatagramServer(() => {});
  const result = await run(portCheck(null), server.port);
  await server.close();
  assert.equal(result.outcome, 'pass');
  assert.equal(result.silent, true);
});

test('a socket is kept between probes of an address, and not of a name, which may move', async () => {
  const { address } = await lookup('localhost');
  const server = await startDatagramServer((_, reply) => reply(Buffer.alloc(0)), address);
  const deps = { clock: systemClock, signal: new AbortController().signal };
  const sockets = async (host: string): Promise<number> => {
    const own = portCheck(null).forServer!();
    const from = new Set<string>();
    for (let time = 0; time < 3; time += 1) {
      from.add((await own.run({ host, port: server.port }, plainOptions(60_000), deps)).localAddress);
    }
    own.close();
    return from.size;
  };
  assert.equal(await sockets(address), 1);
  assert.ok((await sockets('localhost')) > 1);
  await server.close();
});

test('any answer is proof of life: the probe passes at once, whatever the echo says', async () => {
  const server = await startDatagramServer((_, reply) => reply(Buffer.alloc(0)));
  const result = await run(portCheck({ outcome: 'none' }), server.port, { timeoutMs: 60_000 });
  await server.close();
  assert.equal(result.outcome, 'pass');
});

test('a machine that cannot send echo requests has no verdict', async () => {
  const server = await startDatagramServer(() => {});
  const deps = { clock: systemClock, signal: new AbortController().signal };
  const probe = portCheck({ outcome: 'unavailable', detail: 'no ping' });
  const result = await probe.run({ host: '127.0.0.1', port: server.port }, plainOptions(100), deps);
  await server.close();
  assert.equal(result.outcome, 'neutral');
  assert.match(result.detail, /no ping|held up/);
});

test('a refusal fails at once although the host answers', async () => {
  const server = await startDatagramServer(() => {});
  await server.close();
  const result = await run(portCheck(REPLY), server.port, { timeoutMs: 60_000 });
  assert.equal(result.reason, 'PORT_UNREACHABLE');
});

test('silence is no pass while traffic is being refused, and an answer still is', async () => {
  const silent = await startDatagramServer(() => {});
  const refused = { refusedByTraffic: () => true };
  assert.equal((await run(portCheck(REPLY), silent.port, refused)).reason, 'PORT_UNREACHABLE');
  await silent.close();
  const speaking = await startDatagramServer((_, reply) => reply(Buffer.from('x')));
  assert.equal((await run(portCheck(REPLY), speaking.port, refused)).outcome, 'pass');
  await speaking.close();
});

test('a probe of one server that is cancelled lets go of its socket', async (t) => {
  const server = await startDatagramServer(() => {});
  const target = { host: '127.0.0.1', port: server.port };
  const probe = portCheck(null).forServer?.();
  assert.ok(probe !== undefined);
  t.after(() => probe.close());
  const abort = new AbortController();
  await server.close();
  // Cancelled in the very turn its datagram goes out: the answer of the kernel comes afterwards.
  const running = probe.run(target, plainOptions(5000), { clock: systemClock, signal: abort.signal });
  abort.abort();
  assert.equal((await running).outcome, 'neutral');
});

test('an error that comes while nobody listens is remembered as a refusal', async () => {
  const server = await startDatagramServer(() => {});
  await server.close();
  const deps = { clock: systemClock, signal: new AbortController().signal };
  let late = false;
  await attempt(5000, deps, async (run) => {
    const datagrams = run.own(await openDatagrams(run, { host: '127.0.0.1', port: server.port }, plainOptions(5000)));
    datagrams.send(Buffer.from('x'));
    await run.wait<void>((resolve) => {
      const look = (): void => {
        if (datagrams.refusedLate) resolve();
        else setImmediate(look);
      };
      look();
    });
    late = true;
    return { detail: '' };
  });
  assert.equal(late, true);
});

test('probes of one server share a socket until it is closed', async (t) => {
  const server = await startDatagramServer((_, reply) => reply(Buffer.from('x')));
  t.after(() => server.close());
  const probe = portCheck(null).forServer?.();
  assert.ok(probe !== undefined);
  const first = await run(probe, server.port);
  assert.equal((await run(probe, server.port)).localAddress, first.localAddress);
  probe.close();
  assert.notEqual((await run(probe, server.port)).localAddress, first.localAddress);
  probe.close();
});

test('PROXY v2 stands in front of the datagram, and IPv6 is spoken', async () => {
  const server = await startDatagramServer((_, reply) => reply(Buffer.from('x')), '::1');
  const deps = { clock: systemClock, signal: new AbortController().signal };
  const options = { ...plainOptions(5000), proxyProtocol: 'v2' as const };
  const result = await portCheck(null).run({ host: '::1', port: server.port }, options, deps);
  await server.close();
  assert.equal(result.outcome, 'pass', result.detail);
  assert.match(result.localAddress, /^\[::1\]:\d+$/);
  assert.equal(server.received[0]?.toString('latin1'), '\r\n\r\n\0\r\nQUIT\n\x20\0\0\0hello');
});

test('after a refusal silence fails for as long as hosts may hold back the next one, and an answer passes at once', async (t) => {
  let ms = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + ms };
  const deps = { clock, signal: new AbortController().signal };
  const closed = await startDatagramServer(() => {});
  const target = { host: '127.0.0.1', port: closed.port };
  await closed.close();
  const probe = portCheck(null).forServer?.();
  assert.ok(probe !== undefined);
  t.after(() => probe.close());
  const again = (): Promise<ProbeResult> => untilDecided(() => probe.run(target, plainOptions(100), deps));
  assert.equal((await again()).reason, 'PORT_UNREACHABLE');
  let speaks = false;
  const server = dgram.createSocket('udp4', (_, from) => void (speaks && server.send('x', from.port, from.address)));
  server.bind(target.port, target.host);
  await once(server, 'listening');
  t.after(() => server.close());
  const silent = await again();
  assert.equal(silent.reason, 'PORT_UNREACHABLE', silent.detail);
  assert.match(silent.detail, /a moment ago/);
  speaks = true;
  assert.equal((await again()).outcome, 'pass');
  speaks = false;
  ms += REFUSAL_MEMORY_MS;
  assert.equal((await again()).outcome, 'pass');
});
