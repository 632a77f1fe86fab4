import { createRequire } from 'node:module';
import type { Case, Message, Reading } from './reading.ts';

/** The part of Node's internal llhttp binding that is used here; it has no published types. */
interface NodeParser {
  initialize(type: number, resource: object, maxHeaderSize: number, lenientFlags: number): void;
  execute(buffer: Buffer): number | Error;
  finish(): number | Error | undefined;
  [callback: number]: unknown;
}

interface NodeParserClass {
  new (): NodeParser;
  readonly REQUEST: number;
  readonly RESPONSE: number;
  readonly kOnHeaders: number;
  readonly kOnHeadersComplete: number;
  readonly kOnBody: number;
  readonly kOnMessageComplete: number;
  readonly kLenientNone: number;
}

interface HttpCommon {
  readonly HTTPParser: NodeParserClass;
  readonly methods: readonly string[];
}

type HeadersComplete = (
  major: number,
  minor: number,
  headers: string[] | undefined,
  method: number,
  url: string | undefined,
  status: number,
  reason: string,
  upgrade: boolean,
  keepAlive: boolean,
) => number;

const MAX_HEADER_SIZE = 1_000_000;

/** Reads messages with the parser `node:http` uses, as strict as it gets. One instance reads many cases. */
export class NodeReader {
  /** Methods it knows. */
  readonly methods: ReadonlySet<string>;
  readonly #class: NodeParserClass;
  /** By the parser's own numbers, which it does not publish. */
  readonly #methodNames = new Map<number, string>();
  readonly #parser: NodeParser;
  #case: Case = { kind: 'request', methods: [], text: '' };
  #reading: Reading = { messages: [], end: 'waiting' };
  #early: string[] = [];
  #earlyUrl = '';
  #answered = 0;
  #lastMethod = -1;

  constructor() {
    const require = createRequire(import.meta.url);
    const common: HttpCommon = require('node:_http_common');
    this.#class = common.HTTPParser;
    this.methods = new Set(common.methods);
    this.#parser = new this.#class();
    const onHeadersComplete: HeadersComplete = (...args) => this.#onHead(...args);
    this.#parser[this.#class.kOnHeadersComplete] = onHeadersComplete;
    this.#parser[this.#class.kOnHeaders] = (headers: string[], url: string) => this.#onHeaders(headers, url);
    this.#parser[this.#class.kOnBody] = (bytes: Buffer) => {
      this.#message().body += bytes.toString('latin1');
    };
    this.#parser[this.#class.kOnMessageComplete] = () => {
      this.#message().complete = true;
    };
    for (const method of common.methods) {
      this.read({ kind: 'request', methods: [], text: `${method} / HTTP/1.1\r\n\r\n` });
      this.#methodNames.set(this.#lastMethod, method);
    }
  }

  read(testCase: Case): Reading {
    this.#case = testCase;
    this.#reading = { messages: [], end: 'waiting' };
    this.#early = [];
    this.#earlyUrl = '';
    this.#answered = 0;
    const type = testCase.kind === 'request' ? this.#class.REQUEST : this.#class.RESPONSE;
    this.#parser.initialize(type, {}, MAX_HEADER_SIZE, this.#class.kLenientNone);
    const buffer = Buffer.from(testCase.text, 'latin1');
    const consumed = this.#parser.execute(buffer);
    if (typeof consumed !== 'number') this.#reading.end = 'refused';
    else if (consumed < buffer.length) this.#reading.end = 'stopped';
    else this.#parser.finish();
    return this.#reading;
  }

  #message(): Message {
    return this.#reading.messages.at(-1)!;
  }

  /** A batch of field lines before the head is complete, or the trailers behind a body. */
  #onHeaders(headers: string[], url: string): void {
    const last = this.#reading.messages.at(-1);
    if (last === undefined || last.complete) {
      this.#early.push(...headers);
      this.#earlyUrl += url;
      return;
    }
    for (let at = 0; at < headers.length; at += 2) last.trailers += `${headers[at]}: ${headers[at + 1]}\r\n`;
  }

  #onHead(
    ...[major, minor, headers, method, url, status, reason, upgrade, keepAlive]: Parameters<HeadersComplete>
  ): number {
    const request = this.#case.kind === 'request';
    this.#lastMethod = method;
    this.#reading.messages.push({
      start: -1,
      end: -1,
      line: request ? [this.#methodNames.get(method) ?? '', url ?? this.#earlyUrl] : [String(status), reason],
      version: major * 10 + minor,
      fields: headers ?? this.#early,
      keepAlive,
      upgrade,
      body: '',
      trailers: '',
      complete: false,
    });
    this.#early = [];
    this.#earlyUrl = '';
    const answers = this.#case.methods[this.#answered] ?? 'GET';
    if (status >= 200) this.#answered += 1;
    // 1 = no body whatever the fields say; what `http.request` answers for HEAD and 1xx.
    return !request && (answers === 'HEAD' || status < 200) ? 1 : 0;
  }
}
