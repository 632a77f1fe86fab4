import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { attempt, type Attempt, ProbeFault } from '../attempt.ts';
import type { Probe } from '../probe.ts';
import type { TlsContexts } from '../tls-contexts.ts';
import type { GrpcProbeSpec } from '../probe-spec.ts';
import { brokenFault, connect } from './connection.ts';
import { mismatch } from './conversation.ts';

const PATH = '/grpc.health.v1.Health/Check';
/** A health response is two bytes; anything of this size is something else. */
const MAX_MESSAGE_BYTES = 16_384;
const PREFIX_BYTES = 5;
/** grpc.health.v1.HealthCheckResponse.ServingStatus. */
const STATUSES: readonly string[] = Object.freeze(['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']);
const SERVING = 1;
/** Status codes of gRPC that a server without the service, or without health checks, gives. */
const NOT_FOUND = '5';
const UNIMPLEMENTED = '12';

/** `grpc`: one call of the health service; only SERVING passes. */
export function grpcCheck(spec: GrpcProbeSpec, contexts: TlsContexts): Probe {
  const tls = contexts.ready(spec.tls);
  return {
    run: (target, options, deps) =>
      attempt(options.timeoutMs, deps, async (run) => {
        const socket = await connect(run, target, { ...options, tls, alpn: 'h2' });
        const session = open(run, socket, `${spec.tls === null ? 'http' : 'https'}://${options.authority}`);
        const message = await call(run, session, spec.service);
        session.close();
        const status = statusOf(message);
        if (status !== SERVING) throw mismatch(`the service is ${STATUSES[status] ?? `in state ${status}`}`);
        return { detail: 'SERVING' };
      }),
  };
}

function open(run: Attempt, socket: Socket, authority: string): ClientHttp2Session {
  const session = run.own(http2.connect(authority, { createConnection: () => socket }));
  session.on('error', (error: NodeJS.ErrnoException) => run.fail(h2Fault(error)));
  session.on('goaway', (code) => run.step('received', `GOAWAY ${code}`));
  session.on('close', () =>
    run.fail(new ProbeFault('CONNECT_INTERRUPT', 'the connection was closed before the answer')),
  );
  return session;
}

/** Resolves with the response message once the call ended with status 0. */
async function call(run: Attempt, session: ClientHttp2Session, service: string): Promise<Buffer> {
  const request = requestOf(service);
  const stream = session.request({
    ':method': 'POST',
    ':path': PATH,
    'content-type': 'application/grpc',
    te: 'trailers',
    'user-agent': 'holdfast-health',
  });
  // Before anything is waited for: an error without a listener would end the thread.
  stream.on('error', (error: NodeJS.ErrnoException) => run.fail(h2Fault(error)));
  run.step('sent', `Health/Check of ${service === '' ? 'the server' : JSON.stringify(service)}`, request);
  const answer = run.wait<Buffer>((resolve) => collect(run, stream, resolve));
  stream.end(request);
  return answer;
}

function collect(run: Attempt, stream: ClientHttp2Stream, done: (message: Buffer) => void): void {
  const parts: Buffer[] = [];
  let bytes = 0;
  let answered = false;
  let status = '';
  let message = '';
  const read = (headers: http2.IncomingHttpHeaders): void => {
    status = String(headers['grpc-status'] ?? status);
    message = String(headers['grpc-message'] ?? message);
  };
  stream.on('response', (headers) => {
    answered = true;
    run.step('received', `status ${headers[':status'] ?? ''}`);
    if (headers[':status'] !== 200) run.fail(mismatch(`HTTP status ${headers[':status'] ?? 'missing'}`));
    read(headers);
  });
  stream.on('trailers', read);
  stream.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > MAX_MESSAGE_BYTES) run.fail(mismatch(`more than ${MAX_MESSAGE_BYTES} bytes of message`));
    else parts.push(part);
  });
  stream.on('end', () => {
    // A connection that is lost ends its streams first, and is told of afterwards.
    if (!answered) return;
    run.step('received', `grpc-status ${status}`);
    if (status === '0') done(Buffer.concat(parts));
    else run.fail(mismatch(describeStatus(status, message)));
  });
}

function describeStatus(status: string, message: string): string {
  if (status === NOT_FOUND) return 'the server knows no such service (grpc-status 5)';
  if (status === UNIMPLEMENTED) return 'the server has no health service (grpc-status 12)';
  return `grpc-status ${status === '' ? 'missing' : status}${message === '' ? '' : `: ${message.slice(0, 80)}`}`;
}

function h2Fault(error: NodeJS.ErrnoException): ProbeFault {
  if (error.code === 'ERR_HTTP2_STREAM_CANCEL') {
    return new ProbeFault('CONNECT_INTERRUPT', 'the connection was closed before the answer');
  }
  if (error.code?.startsWith('ERR_HTTP2') === true)
    return mismatch(`it does not speak HTTP/2 as it should (${error.message})`);
  return brokenFault(error, 'before the answer was complete');
}

/** Field 1 of HealthCheckRequest, in a gRPC frame. */
function requestOf(service: string): Buffer {
  const name = Buffer.from(service, 'utf8');
  const body = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name]);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

/** Field 1 of HealthCheckResponse; protobuf leaves a 0 out. */
function statusOf(message: Buffer): number {
  if (message.length < PREFIX_BYTES || message[0] !== 0) throw mismatch('the answer is no uncompressed gRPC message');
  const body = message.subarray(PREFIX_BYTES, PREFIX_BYTES + message.readUInt32BE(1));
  if (body.length === 0) return 0;
  if (body[0] !== 0x08 || body.length < 2) throw mismatch('the answer is no HealthCheckResponse');
  return body[1]!;
}
