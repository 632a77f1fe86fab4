/** A client that sends exactly the bytes it is told to and shows what came back. */
import { connect, type Socket } from 'node:net';

export interface RawResponse {
  readonly status: number;
  readonly reason: string;
  /** Field lines in order, name and value as received. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** latin1 */
  readonly body: string;
  readonly trailers: readonly (readonly [name: string, value: string])[];
  header(name: string): string | undefined;
  headers(name: string): string[];
}

export type RawEnd = 'fin' | 'reset';

export class RawClient {
  readonly socket: Socket;
  /** Everything received and not yet taken, latin1. */
  received = '';
  /** How the connection ended, undefined while it is open. */
  end: RawEnd | undefined;
  readonly #waiters = new Set<() => void>();

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
      this.#wake();
    });
    socket.on('end', () => this.#ended('fin'));
    socket.on('error', () => this.#ended('reset'));
    socket.on('close', (broken: boolean) => this.#ended(broken ? 'reset' : 'fin'));
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes, 'latin1');
    return this;
  }

  /** Waits until `test` holds; fails after `timeoutMs`. */
  async until(test: () => boolean, timeoutMs = 10_000): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!test()) {
      const left = deadline - Date.now();
      if (left <= 0)
        throw new Error(
          `waited ${timeoutMs} ms in vain; received ${JSON.stringify(this.received.slice(0, 500))}, end ${this.end}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(left, 100));
        this.#waiters.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  async ended(timeoutMs?: number): Promise<RawEnd> {
    await this.until(() => this.end !== undefined, timeoutMs);
    return this.end!;
  }

  /** Takes one response off the stream, 1xx ones included. `method` HEAD has no body. */
  async response(method = 'GET', timeoutMs?: number): Promise<RawResponse> {
    await this.until(() => this.received.includes('\r\n\r\n') || this.end !== undefined, timeoutMs);
    const headEnd = this.received.indexOf('\r\n\r\n');
    if (headEnd < 0)
      throw new Error(`no response head; received ${JSON.stringify(this.received.slice(0, 200))}, end ${this.end}`);
    const lines = this.received.slice(0, headEnd).split('\r\n');
    this.received = this.received.slice(headEnd + 4);
    const [statusLine = ''] = lines;
    const status = Number(statusLine.split(' ')[1]);
    const fields = lines.slice(1).map(splitLine);
    const { body, trailers } = await this.#body(status, method, fields, timeoutMs);
    const all = (name: string): string[] =>
      fields.filter(([field]) => field.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
    return {
      status,
      reason: statusLine.split(' ').slice(2).join(' '),
      fields,
      body,
      trailers,
      header: (name) => all(name)[0],
      headers: all,
    };
  }

  close(): void {
    this.socket.destroy();
  }

  async #body(
    status: number,
    method: string,
    fields: readonly (readonly [string, string])[],
    timeoutMs?: number,
  ): Promise<Pick<RawResponse, 'body' | 'trailers'>> {
    const find = (name: string): string | undefined => fields.find(([field]) => field.toLowerCase() === name)?.[1];
    if (status < 200 || status === 204 || status === 304 || method === 'HEAD') return { body: '', trailers: [] };
    if (find('transfer-encoding') === 'chunked') return this.#chunks(timeoutMs);
    const length = find('content-length');
    if (length === undefined) {
      await this.ended(timeoutMs);
      return { body: this.#take(this.received.length), trailers: [] };
    }
    await this.until(() => this.received.length >= Number(length) || this.end !== undefined, timeoutMs);
    if (this.received.length < Number(length))
      throw new Error(`cut after ${this.received.length} of ${length} bytes (${this.end})`);
    return { body: this.#take(Number(length)), trailers: [] };
  }

  async #chunks(timeoutMs?: number): Promise<Pick<RawResponse, 'body' | 'trailers'>> {
    let body = '';
    for (;;) {
      const size = Number.parseInt(await this.#line(timeoutMs), 16);
      if (Number.isNaN(size)) throw new Error('broken chunk size');
      if (size === 0) break;
      await this.until(() => this.received.length >= size + 2 || this.end !== undefined, timeoutMs);
      if (this.received.length < size + 2) throw new Error(`chunk cut (${this.end})`);
      body += this.#take(size);
      this.#take(2);
    }
    const trailers: (readonly [string, string])[] = [];
    for (let line = await this.#line(timeoutMs); line !== ''; line = await this.#line(timeoutMs))
      trailers.push(splitLine(line));
    return { body, trailers };
  }

  async #line(timeoutMs?: number): Promise<string> {
    await this.until(() => this.received.includes('\r\n') || this.end !== undefined, timeoutMs);
    const at = this.received.indexOf('\r\n');
    if (at < 0) throw new Error(`line cut (${this.end})`);
    const line = this.#take(at);
    this.#take(2);
    return line;
  }

  #take(length: number): string {
    const taken = this.received.slice(0, length);
    this.received = this.received.slice(length);
    return taken;
  }

  #ended(end: RawEnd): void {
    if (this.end === undefined || end === 'reset') this.end = end;
    this.#wake();
  }

  #wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }
}

/** `localAddress` lets a test come from any address of 127.0.0.0/8. */
export async function openClient(port: number, localAddress = '127.0.0.1', host = '127.0.0.1'): Promise<RawClient> {
  const socket = connect({ port, host, localAddress, allowHalfOpen: true, noDelay: true });
  const client = new RawClient(socket);
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return client;
}

/** One request on a connection of its own. */
export async function ask(port: number, request: string, localAddress?: string): Promise<RawResponse> {
  const client = await openClient(port, localAddress);
  try {
    return await client.send(request).response(request.split(' ')[0]);
  } finally {
    client.close();
  }
}

/** A plain GET. */
export function get(
  port: number,
  target = '/',
  headers: Readonly<Record<string, string>> = {},
  localAddress?: string,
): Promise<RawResponse> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const host = 'Host' in headers ? '' : 'Host: test.example\r\n';
  return ask(port, `GET ${target} HTTP/1.1\r\n${host}${lines.join('')}Connection: close\r\n\r\n`, localAddress);
}

function splitLine(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}
