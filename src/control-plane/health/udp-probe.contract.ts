/** What every probe that waits for an answer over UDP owes its callers. Each implementation runs this suite. */
import assert from 'node:assert/strict';
import dgram, { type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '../../shared/clock.ts';
import type { Probe, ProbeResult } from './probe.ts';
import { plainOptions, untilDecided } from './tcp-probe.contract.ts';

export interface UdpProbeUnderTest {
  readonly name: string;
  readonly probe: Probe;
  /** What a healthy server answers. */
  answer(question: Buffer): Buffer;
}

export interface DatagramServer {
  readonly port: number;
  readonly received: readonly Buffer[];
  close(): Promise<void>;
}

/** A UDP server on a free loopback port. */
export async function startDatagramServer(
  serve: (question: Buffer, reply: (answer: Buffer) => void) => void,
  host = '127.0.0.1',
): Promise<DatagramServer> {
  const received: Buffer[] = [];
  const socket: Socket = dgram.createSocket(host.includes(':') ? 'udp6' : 'udp4');
  socket.on('error', () => {});
  socket.on('message', (question: Buffer, from: RemoteInfo) => {
    received.push(question);
    serve(question, (answer) => socket.send(answer, from.port, from.address));
  });
  socket.bind(0, host);
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    received,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

export function udpProbeContract(subject: UdpProbeUnderTest): void {
  const run = (port: number, timeoutMs: number, signal = new AbortController().signal): Promise<ProbeResult> =>
    subject.probe.run({ host: '127.0.0.1', port }, plainOptions(timeoutMs), { clock: systemClock, signal });

  test(`${subject.name}: a healthy server passes, with round trip and local address`, async () => {
    const server = await startDatagramServer((question, reply) => reply(subject.answer(question)));
    const result = await run(server.port, 5000);
    await server.close();
    assert.equal(result.outcome, 'pass', result.detail);
    assert.equal(result.reason, '');
    assert.match(result.localAddress, /^127\.0\.0\.1:\d+$/);
    assert.ok(result.roundTripMs >= 0 && result.roundTripMs < 5000);
  });

  test(`${subject.name}: a closed port fails at once as PORT_UNREACHABLE`, async () => {
    const server = await startDatagramServer(() => {});
    await server.close();
    const result = await run(server.port, 60_000);
    assert.equal(result.outcome, 'fail');
    assert.equal(result.reason, 'PORT_UNREACHABLE');
  });

  const skip =
    process.platform === 'linux' ? false : 'only Linux sees before it sends that loopback cannot leave the machine';
  test(`${subject.name}: an address that no way leads to fails at once as CONNECT_FAILED`, { skip }, async () => {
    const deps = { clock: systemClock, signal: new AbortController().signal };
    const options = { ...plainOptions(60_000), localAddress: '127.0.0.1' };
    const result = await subject.probe.run({ host: '192.0.2.1', port: 53 }, options, deps);
    assert.equal(result.outcome, 'fail', result.detail);
    assert.equal(result.reason, 'CONNECT_FAILED');
    assert.match(result.detail, /^no way to 192\.0\.2\.1 port 53 \(E[A-Z]+\)$/);
  });

  test(`${subject.name}: a silent server fails as RECV_RESPONSE_TIMEOUT`, async () => {
    const server = await startDatagramServer(() => {});
    const result = await untilDecided(() => run(server.port, 100));
    await server.close();
    assert.equal(result.outcome, 'fail');
    assert.equal(result.reason, 'RECV_RESPONSE_TIMEOUT');
  });

  test(`${subject.name}: an answer of something else is no pass, and the right one after it is`, async () => {
    const wrong = await startDatagramServer((_, reply) => reply(Buffer.from('!')));
    const failed = await untilDecided(() => run(wrong.port, 100));
    await wrong.close();
    assert.equal(failed.reason, 'RESPONSE_NOT_MATCH');
    const late = await startDatagramServer((question, reply) => {
      reply(Buffer.from('!'));
      reply(subject.answer(question));
    });
    const passed = await run(late.port, 5000);
    await late.close();
    assert.equal(passed.outcome, 'pass', passed.detail);
  });

  test(`${subject.name}: a cancelled probe ends at once, neutral`, async () => {
    const abort = new AbortController();
    const server = await startDatagramServer(() => abort.abort());
    const result = await run(server.port, 60_000, abort.signal);
    await server.close();
    assert.equal(result.outcome, 'neutral');
    assert.equal((await run(9, 60_000, AbortSignal.abort())).outcome, 'neutral');
  });
}
