/** One request and its response over HTTP/2, for pools that speak nothing else. The response is read as the text it would be in HTTP/1. */
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { requestFields } from '../../../shared/http2/request-fields.ts';
import { responseHeadText } from '../../../shared/http2/response-head.ts';
import { attempt, ProbeFault, type Attempt } from '../attempt.ts';
import type { ProbeDeps, ProbeTarget } from '../probe.ts';
import { brokenFault, connect } from './connection.ts';
import type { ExchangeRequest, ExchangeResult } from './http-exchange.ts';
import { ResponseReader } from './http-response.ts';

const LAST_CHUNK = '0\r\n\r\n';
/** What only one HTTP/1 connection is told. */
const CHUNKED = 'transfer-encoding: chunked\r\n';

/** As `exchange`; `request.bytes` is the request in HTTP/1. */
export async function exchangeOverHttp2(
  target: ProbeTarget,
  request: ExchangeRequest,
  deps: ProbeDeps,
): Promise<ExchangeResult> {
  const response = new ResponseReader(request.method, request.maxBodyBytes);
  const { reason, detail, localAddress } = await attempt(request.timeoutMs, deps, async (run) => {
    const socket = await connect(run, target, { ...request, alpn: 'h2' });
    const session = open(run, socket);
    const secured = request.tls !== null;
    await run.wait<void>((resolve) => ask(run, session, request, secured, response, resolve));
    session.close();
    return { detail: '' };
  });
  return { response, reason, detail, localAddress };
}

function open(run: Attempt, socket: Socket): ClientHttp2Session {
  const session = run.own(http2.connect('http://upstream', { createConnection: () => socket }));
  session.on('error', (error: NodeJS.ErrnoException) => run.fail(faultOf(error)));
  session.on('close', () =>
    run.fail(new ProbeFault('CONNECT_INTERRUPT', 'the connection was closed before the answer')),
  );
  return session;
}

function ask(
  run: Attempt,
  session: ClientHttp2Session,
  request: ExchangeRequest,
  secured: boolean,
  response: ResponseReader,
  done: () => void,
): void {
  const headEnd = request.bytes.indexOf('\r\n\r\n');
  const head = request.bytes.toString('latin1', 0, headEnd + 2);
  const lineEnd = head.indexOf('\r\n');
  const fields = requestFields(head.slice(0, lineEnd), head.slice(lineEnd + 2), secured ? 'https' : 'http');
  const body = request.bytes.subarray(headEnd + 4);
  const stream = session.request(fields, { endStream: body.length === 0 });
  run.step('sent', 'the request', request.bytes);
  if (body.length > 0) stream.end(body);
  read(run, stream, request, response, done);
}

function read(
  run: Attempt,
  stream: ClientHttp2Stream,
  request: ExchangeRequest,
  response: ResponseReader,
  done: () => void,
): void {
  let chunked = false;
  const take = (bytes: Buffer): void => {
    response.push(bytes);
    if (response.error !== '') {
      run.fail(new ProbeFault('HTTP_INVALID_HEADER', `the answer is not a valid HTTP response: ${response.error}`));
    } else if (response.complete || response.full || request.suffices(response)) {
      done();
    }
  };
  stream.on('response', (_fields, flags, raw) => {
    const text = responseHeadText(raw, flags, request.method);
    chunked = text.includes(CHUNKED);
    take(Buffer.from(text, 'latin1'));
  });
  stream.on('data', (part: Buffer) => {
    const size = `${part.length.toString(16)}\r\n`;
    take(chunked ? Buffer.concat([Buffer.from(size, 'latin1'), part, Buffer.from('\r\n', 'latin1')]) : part);
  });
  stream.on('end', () => {
    // A connection that is lost ends its streams first, and is told of afterwards.
    if (response.status !== 0 && chunked && (stream.rstCode ?? 0) === 0) take(Buffer.from(LAST_CHUNK, 'latin1'));
  });
  stream.on('error', (error: NodeJS.ErrnoException) => run.fail(faultOf(error)));
}

function faultOf(error: NodeJS.ErrnoException): ProbeFault {
  if (error.code === 'ERR_HTTP2_STREAM_CANCEL') {
    return new ProbeFault('CONNECT_INTERRUPT', 'the connection was closed before the answer');
  }
  if (error.code?.startsWith('ERR_HTTP2') === true) {
    return new ProbeFault('HTTP_INVALID_HEADER', `it does not speak HTTP/2 as it should (${error.message})`);
  }
  return brokenFault(error, 'before the answer was complete');
}
