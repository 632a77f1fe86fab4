/** An HTTP/2 client that writes frames byte by byte, so that it can write wrong ones (RFC 9113 section 4). */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import type { TestContext } from 'node:test';

export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PUSH_PROMISE = 5;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;

export const END_STREAM = 0x1;
export const ACK = 0x1;
export const END_HEADERS = 0x4;
export const PADDED = 0x8;

export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

const ERRORS = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
];

export type Field = readonly [name: string, value: string];

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Fields of a GET that is as it should be. */
export const GET: readonly Field[] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'a.test'],
];
export const POST: readonly Field[] = [[':method', 'POST'], ...GET.slice(1)];

/** Every field as a literal without indexing and without Huffman (RFC 7541 section 6.2.2). */
export function hpack(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.map(([name, value]) => Buffer.concat([Buffer.from([0]), literal(name), literal(value)])));
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const prefix = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest >>= 7) prefix.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...prefix, rest]), bytes]);
}

export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const body = Buffer.from(payload as string, 'latin1');
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

export function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, at) => bytes.writeUInt32BE(value >>> 0, at * 4));
  return bytes;
}

/** One setting: identifier and value. */
export function setting(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt32BE(value >>> 0, 2);
  return bytes;
}

/** What became of a stream, or of the whole connection. */
export type Outcome = `status ${number}` | `reset ${string}` | `goaway ${string}` | 'closed';

export class FrameClient {
  readonly frames: Frame[] = [];
  closed = false;
  readonly #socket: Socket;
  #bytes = Buffer.alloc(0);
  #changed = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.closed = true;
      this.#wake();
    });
  }

  /** Connected, and the preface sent unless `greet` is false. Answers come without a dynamic table, so that they can be read. */
  static async open(t: TestContext, port: number, greet = true): Promise<FrameClient> {
    const socket = connect(port, '127.0.0.1');
    t.after(() => void socket.destroy());
    const client = new FrameClient(socket);
    await once(socket, 'connect');
    if (greet) client.raw(PREFACE).raw(frame(SETTINGS, 0, 0, setting(1, 0)));
    return client;
  }

  raw(bytes: Buffer | string): this {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    return this;
  }

  send(type: number, flags: number, stream: number, payload: Buffer | string = ''): this {
    return this.raw(frame(type, flags, stream, payload));
  }

  headers(stream: number, fields: readonly Field[], flags: number = END_HEADERS | END_STREAM): this {
    return this.send(HEADERS, flags, stream, hpack(fields));
  }

  end(): void {
    this.#socket.end();
  }

  stopReading(): void {
    this.#socket.pause();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** The first frame that fits, also of those that came before. */
  async next(fits: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const found = this.frames.find(fits);
      if (found !== undefined) return found;
      if (this.closed) throw new Error(`closed; had ${this.frames.map(({ type }) => type).join(' ')}`);
      await this.#changed.promise;
    }
  }

  /** How stream `id` ends, or the connection when that comes first. */
  async outcome(id: number): Promise<Outcome> {
    for (;;) {
      for (const { type, stream, payload } of this.frames) {
        if (type === GOAWAY && payload.readUInt32BE(4) !== 0) return `goaway ${errorName(payload.readUInt32BE(4))}`;
        if (stream !== id) continue;
        if (type === RST_STREAM) return `reset ${errorName(payload.readUInt32BE(0))}`;
        if (type === HEADERS) return `status ${statusOf(payload)}`;
      }
      if (this.closed) return 'closed';
      await this.#changed.promise;
    }
  }

  /** Body of stream `id`, once it has ended. */
  async body(id: number): Promise<string> {
    await this.next(({ stream, flags, type }) => stream === id && type <= HEADERS && (flags & END_STREAM) !== 0);
    const parts = this.frames.filter(({ type, stream }) => type === DATA && stream === id);
    return Buffer.concat(parts.map(({ payload }) => payload)).toString('latin1');
  }

  async untilClosed(): Promise<void> {
    while (!this.closed) await this.#changed.promise;
  }

  #read(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    while (this.#bytes.length >= 9) {
      const length = this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < 9 + length) break;
      this.frames.push({
        type: this.#bytes[3]!,
        flags: this.#bytes[4]!,
        stream: this.#bytes.readUInt32BE(5) & 0x7fffffff,
        payload: this.#bytes.subarray(9, 9 + length),
      });
      this.#bytes = this.#bytes.subarray(9 + length);
    }
    this.#wake();
  }

  #wake(): void {
    const before = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    before.resolve();
  }
}

export function errorName(code: number): string {
  return ERRORS[code] ?? String(code);
}

/** Of the static table: 8 is 200, and so on (RFC 7541 appendix A). */
const INDEXED = [200, 204, 206, 304, 400, 404, 500];

/** `:status` comes first: an index, or a literal with its name indexed. */
function statusOf(block: Buffer): number {
  let at = 0;
  // Changes of the table's size stand before it.
  while ((block[at]! & 0xe0) === 0x20) at += 1;
  const first = block[at]!;
  if (first >= 0x80) return INDEXED[(first & 0x7f) - 8] ?? 0;
  const length = block[at + 1]!;
  const value = block.subarray(at + 2, at + 2 + (length & 0x7f));
  return Number(length >= 0x80 ? huffmanDigits(value) : value.toString('latin1'));
}

/** Three digits: 0 to 2 have five bits, 3 to 9 have six (RFC 7541 appendix B). */
function huffmanDigits(bytes: Buffer): string {
  let bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let digits = '';
  while (digits.length < 3) {
    const short = Number.parseInt(bits.slice(0, 5), 2);
    digits += short < 3 ? short : Number.parseInt(bits.slice(0, 6), 2) - 25 + 3;
    bits = bits.slice(short < 3 ? 5 : 6);
  }
  return digits;
}
