/** Node's HTTP/2 client for tests: whole answers, and sessions that end with the test. */
import { connect, type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import { once } from 'node:events';
import type { ConnectionOptions } from 'node:tls';
import type { TestContext } from 'node:test';

export interface H2Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly trailers: Readonly<Record<string, string | string[] | undefined>>;
  /** Status and fields of each 1xx. */
  readonly interim: readonly Readonly<Record<string, unknown>>[];
}

/** In the clear, or over TLS with `tls`. */
export async function openH2(t: TestContext, port: number, tls?: ConnectionOptions): Promise<ClientHttp2Session> {
  const options = tls === undefined ? {} : { servername: 'localhost', ...tls };
  const session = connect(`${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, options);
  session.on('error', () => {});
  t.after(() => session.destroy());
  await once(session, 'remoteSettings');
  return session;
}

/** Sends a request, all of its body, and collects the answer. Rejects when the stream is reset. */
export async function askH2(
  session: ClientHttp2Session,
  fields: OutgoingHttpHeaders = {},
  body?: string | Buffer,
): Promise<H2Answer> {
  const stream = session.request({ ':authority': 'a.test', ...fields }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return answerOf(stream);
}

export async function answerOf(stream: ClientHttp2Stream): Promise<H2Answer> {
  let headers: H2Answer['headers'] = {};
  let trailers: H2Answer['headers'] = {};
  const interim: Record<string, unknown>[] = [];
  const parts: Buffer[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.on('headers', (fields) => interim.push({ ...fields }));
  stream.on('response', (fields) => {
    headers = fields;
  });
  stream.on('trailers', (fields) => {
    trailers = fields;
  });
  stream.on('data', (chunk: Buffer) => parts.push(chunk));
  stream.on('error', reject);
  stream.on('close', () => {
    if (stream.rstCode === 0) resolve();
    else reject(new Error(`reset with ${stream.rstCode}`));
  });
  await promise;
  return {
    status: Number(headers[':status'] ?? 0),
    headers,
    trailers,
    interim,
    body: Buffer.concat(parts).toString('latin1'),
  };
}
