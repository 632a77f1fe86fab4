/**
 * Reads one HTTP/1 response as far as a probe needs it. PURE: bytes in, facts out. As strict as the
 * proxy itself: a response it would refuse to forward must not count as healthy.
 */
import { ChunkedBody } from './chunked-body.ts';

/** A server that has not finished its status line after this many bytes does not speak HTTP. */
const MAX_STATUS_LINE_BYTES = 512;
const MAX_HEAD_BYTES = 65_536;
const LF = 0x0a;
const STATUS_LINE = /^HTTP\/1\.[01] ([1-5][0-9][0-9])(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const FIELD_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/;

export class ResponseReader {
  /** Status of the final response, 0 until its head is complete. */
  status = 0;
  /** The response ended where its framing says. */
  complete = false;
  /** What is wrong with the bytes, '' while nothing is. */
  error = '';
  readonly #method: string;
  readonly #maxBodyBytes: number;
  readonly #fields: Map<string, string[]> = new Map();
  readonly #body: Buffer[] = [];
  #bodyBytes = 0;
  #head = '';
  /** Length-delimited: bytes still to come. −1 = until the connection ends. */
  #left = -1;
  #chunked: ChunkedBody | null = null;

  constructor(method: string, maxBodyBytes: number) {
    this.#method = method;
    this.#maxBodyBytes = maxBodyBytes;
  }

  /** As much of the body as was asked for is here. */
  get full(): boolean {
    return this.#bodyBytes >= this.#maxBodyBytes;
  }

  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /** The body so far, at most the bytes asked for. */
  body(): Buffer {
    return Buffer.concat(this.#body).subarray(0, this.#maxBodyBytes);
  }

  /** First value of a field (lower case name), '' when absent. */
  field(name: string): string {
    return this.#fields.get(name)?.[0] ?? '';
  }

  push(bytes: Buffer): void {
    if (this.error !== '' || this.complete) return;
    if (this.status !== 0) this.#pushBody(bytes);
    else this.#pushHead(bytes);
  }

  /** The peer ended the connection. */
  end(): void {
    if (this.status !== 0 && this.#chunked === null && this.#left === -1) this.complete = true;
  }

  #pushHead(bytes: Buffer): void {
    this.#head += bytes.toString('latin1');
    const end = this.#head.indexOf('\r\n\r\n');
    this.error = faultOfHead(this.#head, end, bytes.includes(LF));
    if (this.error !== '' || end < 0) return;
    const rest = Buffer.from(this.#head.slice(end + 4), 'latin1');
    const lines = this.#head.slice(0, end).split('\r\n');
    this.#head = '';
    this.#readHead(lines);
    if (this.error === '' && !this.complete && rest.length > 0) this.push(rest);
  }

  #readHead(lines: readonly string[]): void {
    const status = Number(STATUS_LINE.exec(lines[0]!)?.[1] ?? 0);
    if (status === 0) return this.#fail(`its first line is not a status line: ${quoted(lines[0]!)}`);
    // RFC 9110 15.2: interim responses come before the final one. 101 is final, and has no body here.
    if (status < 200 && status !== 101) return;
    for (const line of lines.slice(1)) {
      const field = FIELD_LINE.exec(line);
      if (field === null) return this.#fail(`it has a malformed header line: ${quoted(line)}`);
      const name = field[1]!.toLowerCase();
      this.#fields.set(name, [...(this.#fields.get(name) ?? []), field[2]!]);
    }
    this.status = status;
    this.#frame();
  }

  /** RFC 9112 6.3: how long is the body? */
  #frame(): void {
    const bodyless = this.#method === 'HEAD' || this.status === 101 || this.status === 204 || this.status === 304;
    if (bodyless) {
      this.complete = true;
      return;
    }
    const lengths = new Set(this.#fields.get('content-length') ?? []);
    const codings = (this.#fields.get('transfer-encoding') ?? []).join(',').toLowerCase();
    if (codings !== '') {
      if (lengths.size > 0) return this.#fail('it has both Content-Length and Transfer-Encoding');
      if (/(^|,)[ \t]*chunked[ \t]*$/.test(codings)) this.#chunked = new ChunkedBody();
      return;
    }
    if (lengths.size === 0) return;
    const [length] = lengths;
    if (lengths.size > 1 || !/^[0-9]{1,15}$/.test(length!)) return this.#fail('its Content-Length is not one number');
    this.#left = Number(length);
    this.complete = this.#left === 0;
  }

  #pushBody(bytes: Buffer): void {
    if (this.#chunked !== null) {
      for (const part of this.#chunked.push(bytes)) this.#keep(part);
      this.error = this.#chunked.error;
      this.complete = this.#chunked.complete;
    } else if (this.#left >= 0) {
      const part = bytes.subarray(0, this.#left);
      this.#left -= part.length;
      this.#keep(part);
      this.complete = this.#left === 0;
    } else {
      this.#keep(bytes);
    }
  }

  #keep(part: Buffer): void {
    if (!this.full) this.#body.push(Buffer.from(part));
    this.#bodyBytes += part.length;
  }

  #fail(error: string): void {
    this.error = error;
  }
}

/**
 * What can be said of a head before it is parsed; '' = nothing wrong so far. `end` is −1 while it is
 * incomplete. Lines are looked at only when one was added: a head that drips in must not cost its square.
 */
function faultOfHead(head: string, end: number, lineAdded: boolean): string {
  const start = head.slice(0, 5);
  if (!'HTTP/'.startsWith(start)) return `it does not begin with HTTP/ but with ${quoted(head)}`;
  const lineEnd = head.indexOf('\n');
  if (lineEnd < 0 && head.length > MAX_STATUS_LINE_BYTES) return `no status line in ${head.length} bytes`;
  if ((end < 0 ? head.length : end) > MAX_HEAD_BYTES) return `its head is longer than ${MAX_HEAD_BYTES} bytes`;
  if (!lineAdded) return '';
  // RFC 9112 2.2 lets a lone LF pass; the proxy does not, so neither does the probe.
  const text = end < 0 ? head : head.slice(0, end);
  return /(^|[^\r])\n/.test(text) ? 'a line of its head ends in LF without CR' : '';
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}
