/** What every probe over TCP owes its callers, whatever it speaks. Each implementation runs this suite. */
import assert from 'node:assert/strict';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '../../shared/clock.ts';
import type { Probe, ProbeOptions, ProbeResult } from './probe.ts';

export interface TcpProbeUnderTest<Options> {
  readonly name: string;
  readonly probe: Probe<Options>;
  options(timeoutMs: number): Options;
  /** Plays a healthy server on an accepted connection. */
  serve(socket: Socket): void;
}

/** Options of a run that asks for nothing special. */
export function plainOptions(timeoutMs: number): ProbeOptions {
  return { timeoutMs, intervalMs: 5000, authority: 'backend.test:3000' };
}

export interface TestServer {
  readonly port: number;
  readonly accepted: readonly Socket[];
  close(): Promise<void>;
}

/** A TCP server on a free loopback port; it takes its connections down with it. */
export async function startServer(serve: (socket: Socket) => void): Promise<TestServer> {
  const accepted: Socket[] = [];
  const server: Server = net.createServer((socket) => {
    socket.on('error', () => {});
    accepted.push(socket);
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    accepted,
    close: () =>
      new Promise((resolve) => {
        for (const socket of accepted) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Repeats a probe that a busy machine made neutral: a short timeout can meet a late event loop. */
export async function untilDecided(run: () => Promise<ProbeResult>): Promise<ProbeResult> {
  let result = await run();
  for (let tries = 1; result.outcome === 'neutral' && tries < 50; tries += 1) result = await run();
  return result;
}

export function tcpProbeContract<Options>(subject: TcpProbeUnderTest<Options>): void {
  const run = (port: number, timeoutMs: number, signal = new AbortController().signal): Promise<ProbeResult> =>
    subject.probe.run({ host: '127.0.0.1', port }, subject.options(timeoutMs), { clock: systemClock, signal });

  test(`${subject.name}: a healthy server passes, with round trip and local address`, async () => {
    const server = await startServer((socket) => subject.serve(socket));
    const result = await run(server.port, 5000);
    await server.close();
    assert.equal(result.outcome, 'pass', result.detail);
    assert.equal(result.reason, '');
    assert.match(result.localAddress, /^127\.0\.0\.1:\d+$/);
    assert.ok(result.roundTripMs >= 0 && result.roundTripMs < 5000);
  });

  test(`${subject.name}: a closed port fails at once as CONNECT_FAILED`, async () => {
    const server = await startServer(() => {});
    await server.close();
    const result = await run(server.port, 60_000);
    assert.equal(result.outcome, 'fail');
    assert.equal(result.reason, 'CONNECT_FAILED');
    assert.match(result.detail, /ECONNREFUSED/);
  });

  test(`${subject.name}: a silent server fails as RECV_RESPONSE_TIMEOUT and its connection is let go`, async () => {
    let closed: Promise<void> = Promise.resolve();
    const server = await startServer((socket) => {
      socket.resume();
      closed = new Promise((resolve) => socket.once('close', () => resolve()));
    });
    const result = await untilDecided(() => run(server.port, 100));
    await closed;
    await server.close();
    assert.equal(result.outcome, 'fail');
    assert.equal(result.reason, 'RECV_RESPONSE_TIMEOUT');
  });

  test(`${subject.name}: a server that closes at once fails as CONNECT_INTERRUPT`, async () => {
    const server = await startServer((socket) => socket.end());
    const result = await run(server.port, 5000);
    await server.close();
    assert.equal(result.outcome, 'fail');
    assert.equal(result.reason, 'CONNECT_INTERRUPT');
  });

  test(`${subject.name}: a server that resets fails as CONNECT_INTERRUPT`, async () => {
    const server = await startServer((socket) => setImmediate(() => socket.resetAndDestroy()));
    const result = await run(server.port, 5000);
    await server.close();
    assert.equal(result.outcome, 'fail');
    assert.equal(result.reason, 'CONNECT_INTERRUPT');
  });

  test(`${subject.name}: a cancelled probe ends at once, neutral, and lets go of its connection`, async () => {
    const abort = new AbortController();
    const closed = Promise.withResolvers<void>();
    const server = await startServer((socket) => {
      socket.resume();
      socket.once('close', () => closed.resolve());
      setImmediate(() => abort.abort());
    });
    const result = await run(server.port, 60_000, abort.signal);
    await closed.promise;
    await server.close();
    assert.equal(result.outcome, 'neutral');
  });

  test(`${subject.name}: a probe cancelled before it began ends neutral`, async () => {
    const result = await run(9, 60_000, AbortSignal.abort());
    assert.equal(result.outcome, 'neutral');
  });
}
