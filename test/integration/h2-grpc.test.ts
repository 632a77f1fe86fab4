/** gRPC with its own client and server: every kind of call, deadlines and errors, in the clear and over TLS. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  status,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientWritableStream,
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { startBalancer } from '../support/balance.ts';

const TIMEOUT = { timeout: 60_000 };

function method(name: string, requestStream: boolean, responseStream: boolean) {
  const serialize = (text: string): Buffer => Buffer.from(text);
  const deserialize = (bytes: Buffer): string => bytes.toString();
  return {
    path: `/test.Echo/${name}`,
    requestStream,
    responseStream,
    requestSerialize: serialize,
    requestDeserialize: deserialize,
    responseSerialize: serialize,
    responseDeserialize: deserialize,
  };
}

const SERVICE = {
  Unary: method('Unary', false, false),
  Down: method('Down', false, true),
  Up: method('Up', true, false),
  Both: method('Both', true, true),
} satisfies ServiceDefinition;

const unary: handleUnaryCall<string, string> = (call, done) => {
  if (call.request === 'fail') return done({ code: status.NOT_FOUND, details: 'no such thing' });
  if (call.request === 'wait') return;
  const trailers = new Metadata();
  trailers.set('x-sum', String(call.request.length));
  done(null, `${call.request}!`, trailers);
};

const down: handleServerStreamingCall<string, string> = (call) => {
  for (let at = 0; at < Number(call.request); at += 1) call.write(`${at}`);
  call.end();
};

const up: handleClientStreamingCall<string, string> = (call, done) => {
  let bytes = 0;
  call.on('data', (text: string) => (bytes += text.length));
  call.on('end', () => done(null, String(bytes)));
};

const both: handleBidiStreamingCall<string, string> = (call) => {
  call.on('data', (text: string) => void call.write(text.toUpperCase()));
  call.on('end', () => call.end());
};

async function startServer(t: TestContext, calls: string[], name: string): Promise<number> {
  const server = new Server();
  const counted: handleUnaryCall<string, string> = (call, done) => {
    calls.push(name);
    unary(call, done);
  };
  server.addService(SERVICE, { Unary: counted, Down: down, Up: up, Both: both });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  t.after(() => server.forceShutdown());
  return port;
}

interface Call {
  readonly answer: string;
  readonly code: number;
  readonly details: string;
  readonly sum: string;
}

function ask(client: Client, text: string, deadlineMs = 20_000): Promise<Call> {
  const { path, requestSerialize, responseDeserialize } = SERVICE.Unary;
  const deadline = Date.now() + deadlineMs;
  return new Promise((resolve) => {
    let answer = '';
    const call = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      text,
      new Metadata(),
      { deadline },
      (_error: ServiceError | null, value?: string) => (answer = value ?? ''),
    );
    call.on('status', ({ code, details, metadata }) => {
      const sum = String(metadata.get('x-sum')[0] ?? '');
      setImmediate(() => resolve({ answer, code, details, sum }));
    });
  });
}

async function collect(stream: ClientReadableStream<string> | ClientDuplexStream<string, string>): Promise<string[]> {
  const texts: string[] = [];
  for await (const text of stream) texts.push(String(text));
  return texts;
}

async function exercise(client: Client, calls: readonly string[]): Promise<void> {
  assert.deepEqual(await ask(client, 'hello'), { answer: 'hello!', code: status.OK, details: 'OK', sum: '5' });

  const failed = await ask(client, 'fail');
  assert.deepEqual([failed.code, failed.details], [status.NOT_FOUND, 'no such thing']);
  assert.equal((await ask(client, 'wait', 300)).code, status.DEADLINE_EXCEEDED);

  const { Down, Up, Both } = SERVICE;
  const reading = client.makeServerStreamRequest(Down.path, Down.requestSerialize, Down.responseDeserialize, '500');
  assert.equal((await collect(reading)).length, 500);

  const sent = await new Promise<string>((resolve, reject) => {
    const writing: ClientWritableStream<string> = client.makeClientStreamRequest(
      Up.path,
      Up.requestSerialize,
      Up.responseDeserialize,
      (error: ServiceError | null, value?: string) => (error === null ? resolve(value ?? '') : reject(error)),
    );
    for (let at = 0; at < 200; at += 1) writing.write('x'.repeat(5000));
    writing.end();
  });
  assert.equal(sent, '1000000');

  const talking = client.makeBidiStreamRequest(Both.path, Both.requestSerialize, Both.responseDeserialize);
  const heard: string[] = [];
  for (const text of ['one', 'two', 'three']) {
    // Each answer comes before the next question: nothing waits for the end of a body.
    const answer = new Promise<string>((resolve) => talking.once('data', resolve));
    talking.write(text);
    heard.push(await answer);
  }
  assert.deepEqual(heard, ['ONE', 'TWO', 'THREE']);
  talking.end();
  await new Promise((resolve) => talking.once('end', resolve));

  await Promise.all(Array.from({ length: 40 }, (_, at) => ask(client, `${at}`)));
  assert.deepEqual([...new Set(calls)].toSorted(), ['a', 'b']);
}

describe('gRPC through least_conn to two servers', TIMEOUT, () => {
  for (const secure of [false, true]) {
    test(secure ? 'over TLS' : 'in the clear', async (t) => {
      const calls: string[] = [];
      const ports = [await startServer(t, calls, 'a'), await startServer(t, calls, 'b')];
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-grpc-'));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const proxy = `reverse_proxy ${ports.map((port) => `h2c://127.0.0.1:${port}`).join(' ')} {\nlb_policy least_conn\n}`;
      const servers = 'servers {\nprotocols h1 h2 h2c\n}';
      const config = secure
        ? `{\nadmin off\nauto_https disable_redirects\n}\nhttps://localhost:0 {\nbind 127.0.0.1\n${proxy}\n}\n`
        : `{\nadmin off\nauto_https off\n${servers}\n}\nhttp://:0 {\nbind 127.0.0.1\n${proxy}\n}\n`;
      const { port } = await startBalancer(t, config, { dataDir: folder });
      const root = (): Buffer => readFileSync(join(folder, 'pki/authorities/local/root.crt'));
      const client = new Client(
        `${secure ? 'localhost' : '127.0.0.1'}:${port}`,
        secure ? credentials.createSsl(root()) : credentials.createInsecure(),
      );
      t.after(() => client.close());
      await exercise(client, calls);
    });
  }

  test('a server that is not there is UNAVAILABLE, not a hang', async (t) => {
    const config =
      '{\nadmin off\nauto_https off\nservers {\nprotocols h1 h2 h2c\n}\n}\nhttp://:0 {\nbind 127.0.0.1\n' +
      'reverse_proxy h2c://127.0.0.1:1\n}\n';
    const { port } = await startBalancer(t, config);
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    t.after(() => client.close());
    assert.equal((await ask(client, 'hello')).code, status.UNAVAILABLE);
  });
});
