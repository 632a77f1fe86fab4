/** An upstream that cuts what it receives into requests by its own simple reading, keeps their bytes, and answers by script. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { startScripted } from './backend.ts';

export interface RecordedRequest {
  /** Request line as received, latin1. */
  readonly line: string;
  /** Field lines as received. */
  readonly fields: readonly string[];
  /** Bytes of the body as framed on the wire, chunk headers included. */
  readonly rawBody: string;
  /** Number of the connection it came on, from 0. */
  readonly connection: number;
  /** Values of all lines of this name, in order. */
  values(name: string): string[];
}

export interface Recorder {
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  /** Everything received on each connection. */
  readonly received: readonly string[];
  readonly sockets: readonly Socket[];
  /** Connections that are open now. */
  open(): number;
}

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** `answer` runs once a request is complete; `index` counts all requests. The default answers 200 `ok`. */
export async function startRecorder(
  t: TestContext,
  answer: (socket: Socket, request: RecordedRequest, index: number) => unknown = (socket) =>
    void socket.write(OK, 'latin1'),
): Promise<Recorder> {
  const requests: RecordedRequest[] = [];
  const closed = new Set<Socket>();
  const upstream = await startScripted(t, (socket, connection, received) => {
    let taken = 0;
    socket.on('close', () => closed.add(socket));
    socket.on('end', () => socket.end());
    socket.on('data', () => {
      for (;;) {
        const cut = cutRequest(received().slice(taken), connection);
        if (cut === null) return;
        taken += cut.length;
        void answer(socket, cut.request, requests.push(cut.request) - 1);
      }
    });
  });
  return { ...upstream, requests, open: () => upstream.sockets.filter((socket) => !closed.has(socket)).length };
}

function cutRequest(bytes: string, connection: number): { request: RecordedRequest; length: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const [line = '', ...fields] = bytes.slice(0, headEnd).split('\r\n');
  const values = (name: string): string[] =>
    fields
      .filter((field) => field.toLowerCase().startsWith(`${name.toLowerCase()}:`))
      .map((field) => field.slice(name.length + 1).trim());
  const rest = bytes.slice(headEnd + 4);
  const length = bodyLength(values, rest);
  if (length < 0 || rest.length < length) return null;
  const request = { line, fields, rawBody: rest.slice(0, length), connection, values };
  return { request, length: headEnd + 4 + length };
}

/** −1 = not complete. A chunked body ends with the first empty line behind a last chunk. */
function bodyLength(values: (name: string) => string[], rest: string): number {
  if (values('Transfer-Encoding').length === 0) return Number(values('Content-Length')[0] ?? 0);
  let at = 0;
  for (;;) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd < 0) return -1;
    const size = Number.parseInt(rest.slice(at, lineEnd), 16);
    if (size === 0) {
      const end = rest.indexOf('\r\n\r\n', lineEnd);
      return end < 0 ? -1 : end + 4;
    }
    at = lineEnd + 2 + size + 2;
  }
}

/** Payload of a body in chunks. */
export function unchunk(rawBody: string): string {
  let body = '';
  for (let at = 0; ;) {
    const lineEnd = rawBody.indexOf('\r\n', at);
    const size = Number.parseInt(rawBody.slice(at, lineEnd), 16);
    if (!(size > 0)) return body;
    body += rawBody.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}

/** Value of one sample of a metrics page, 0 when it is not there. `sample` is name and labels as printed. */
export function sampleOf(page: string, sample: string): number {
  const line = page.split('\n').find((text) => text.startsWith(`${sample} `));
  return line === undefined ? 0 : Number(line.slice(sample.length + 1));
}

/** No worker has crashed or hung: the page shows the counters, and all are 0. */
export function assertNoRestarts(page: string): void {
  const samples = page.split('\n').filter((line) => line.startsWith('holdfast_worker_restarts_total{'));
  assert.ok(samples.length > 0);
  for (const sample of samples) assert.match(sample, / 0$/);
}
