import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { after, test } from 'node:test';
import { TlsContexts } from '../tls-contexts.ts';
import { systemClock } from '../../../shared/clock.ts';
import type { ProbeResult } from '../probe.ts';
import { plainOptions, startServer, tcpProbeContract, untilDecided } from '../tcp-probe.contract.ts';
import { grpcCheck } from './grpc.ts';

interface Answer {
  readonly httpStatus?: number;
  readonly grpcStatus?: string;
  /** Hex of the frame. */
  readonly message?: string;
}

const SERVING = '00000000020801';

/** A server of one answer; `asked` is told path and message of each call. */
async function startHealthServer(
  { httpStatus = 200, grpcStatus = '0', message = SERVING }: Answer,
  asked: (path: string, message: string) => void = () => {},
): Promise<{ port: number; close(): void; server: http2.Http2Server }> {
  const server = http2.createServer();
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream, headers) => {
    const parts: Buffer[] = [];
    stream.on('error', () => {});
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => {
      asked(String(headers[':path']), Buffer.concat(parts).toString('hex'));
      stream.respond({ ':status': httpStatus, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': grpcStatus }));
      stream.end(Buffer.from(message, 'hex'));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    server,
    close() {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}

async function probe(
  answer: Answer,
  service = '',
  asked: (path: string, message: string) => void = () => {},
): Promise<ProbeResult> {
  const server = await startHealthServer(answer, asked);
  const deps = { clock: systemClock, signal: new AbortController().signal };
  const check = grpcCheck({ kind: 'grpc', service, tls: null }, new TlsContexts());
  const result = await check.run({ host: '127.0.0.1', port: server.port }, plainOptions(5000), deps);
  server.close();
  return result;
}

test('SERVING passes, and the call is the one of the health service', async () => {
  const calls: string[] = [];
  const record = (path: string, message: string): void => void calls.push(`${path} ${message}`);
  assert.equal((await probe({}, '', record)).outcome, 'pass');
  assert.equal((await probe({}, 'shop', record)).outcome, 'pass');
  assert.deepEqual(calls, [
    '/grpc.health.v1.Health/Check 0000000000',
    '/grpc.health.v1.Health/Check 00000000060a0473686f70',
  ]);
});

test('a long service name is framed rightly', async () => {
  let seen = '';
  const result = await probe({}, 'x'.repeat(200), (_, message) => (seen = message));
  assert.equal(result.outcome, 'pass');
  assert.equal(seen.slice(0, 16), '00000000cb0ac801');
});

test('NOT_SERVING, unknown services, no health service, other statuses and no gRPC fail', async () => {
  const wrong: readonly (readonly [Answer, RegExp])[] = [
    [{ message: '00000000020802' }, /NOT_SERVING/],
    [{ message: '0000000000' }, /UNKNOWN/],
    [{ grpcStatus: '5', message: '' }, /no such service/],
    [{ grpcStatus: '12', message: '' }, /no health service/],
    [{ grpcStatus: '14', message: '' }, /grpc-status 14/],
    [{ httpStatus: 503, message: '' }, /HTTP status 503/],
    [{ message: '' }, /no uncompressed gRPC message/],
    [{ message: '01000000020801' }, /no uncompressed gRPC message/],
    [{ message: '00000000021001' }, /no HealthCheckResponse/],
  ];
  for (const [answer, detail] of wrong) {
    const result = await probe(answer);
    assert.equal(result.reason, 'RESPONSE_NOT_MATCH', JSON.stringify(answer));
    assert.match(result.detail, detail);
  }
});

test('a server that does not speak HTTP/2 fails', async () => {
  const server = await startServer((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const deps = { clock: systemClock, signal: new AbortController().signal };
  const check = grpcCheck({ kind: 'grpc', service: '', tls: null }, new TlsContexts());
  const result = await untilDecided(() => check.run({ host: '127.0.0.1', port: server.port }, plainOptions(500), deps));
  await server.close();
  assert.equal(result.outcome, 'fail');
});

const inner = await startHealthServer({});
tcpProbeContract({
  name: 'grpc probe',
  probe: grpcCheck({ kind: 'grpc', service: '', tls: null }, new TlsContexts()),
  options: plainOptions,
  serve: (socket: Socket) => void inner.server.emit('connection', socket),
});
after(() => inner.close());
