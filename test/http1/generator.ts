/** Makes messages: mostly well-formed ones from a grammar, then mutations of them. Same seed, same cases. */
import type { Random } from '../../src/shared/random.ts';
import type { Case } from './reading.ts';

const METHODS = [
  'GET',
  'GET',
  'POST',
  'POST',
  'HEAD',
  'PUT',
  'DELETE',
  'OPTIONS',
  'PATCH',
  'QUERY',
  'BREW',
  'm-search',
  'PROPFIND',
  'CONNECT',
  'PRI',
  'SOURCE',
  'get',
];
const TARGETS = [
  '/',
  '/a%2Fb',
  '//a///b//',
  '/a/../b',
  '/%2e%2e/x',
  '/a;p=1',
  '/a?',
  '/a?b?c',
  '/a?x=%zz',
  '/a%00b',
  '/a+b%20c',
  '/a|b^c',
  '/?q=[]{}',
  '/"<>\\`',
  '*',
  'http://host.test/x?y',
  'https://host.test:8443',
  'HTTP://h?q',
  'http://[::1]:80/',
  'http://u@h/',
  'ftp://h/',
  'host:443',
  '/#f',
  '/caf\xc3\xa9',
  'http://a%41b/',
  '',
];
const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/1.0',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/0.9',
  'http/1.1',
];
const STATUS_LINES = [
  '200 OK',
  '200 OK',
  '200 OK',
  '200',
  '200 ',
  '204 No Content',
  '304 Not Modified',
  '404 Not Found',
  '101 Switching Protocols',
  '100 Continue',
  '103 Early Hints',
  '199 x',
  '500 caf\xe9',
  '999 \t odd',
  '099 low',
  '600 a:b',
  '205 Reset',
  '2000 x',
  '20 x',
];
const HOSTS = [
  'Host: a.test',
  'Host: a.test',
  'Host: a.test',
  'host:a.test:80',
  'HOST:\t[::1]:8080 ',
  'Host: u@a.test',
  'Host: a b',
  'Host:',
  'Host: a/b',
  'Host: a.test:99999',
  'Host: a%41',
  'Host: a%zz',
  '',
];
const FIELDS = [
  'Accept: */*',
  'User-Agent: test (x; y)',
  'X-Empty:',
  'X-Space:   a  b  ',
  'X-Tab:\ta\t',
  'X-Latin: \xe9',
  'X-Utf: \xe4\xb8\xad',
  'Cookie: a=b; c=d',
  'Set-Cookie: a=b',
  'VARY: x',
  'X-A : 1',
  ' folded',
  'X-Nul: a\0b',
  'X-Del: a\x7fb',
  'X-Cr: a\rb',
  'X_U: 1',
  "!#$%&'*+-.^_`|~: 1",
  'X(: 1',
  ': none',
  'nothing',
  'Te: trailers',
  'TE: gzip, trailers',
  'Expect: 100-continue',
  'Expect: other',
  'Trailer: X-Sum',
  'Keep-Alive: timeout=5',
  'X-Quote: "a\\"b"',
  'X\xe9: 1',
  'Contentlength: 5',
  'Content-Lengthy: 5',
  'Content_Length: 5',
  'Transfer-Encodin: chunked',
];
const CONNECTIONS = [
  'Connection: close',
  'Connection: keep-alive',
  'connection: Keep-Alive, Upgrade',
  'Connection: upgrade',
  'Connection: close, keep-alive',
  'Connection:  ,, close ,',
  'Connection: x-a, X-B',
  'Connection: closer',
  'Connection: close;x',
  'Connection: close x',
  'Connection:\tclose',
  'Connection: close\t, x',
  'Connection:',
  'Proxy-Connection: close',
  'Proxy-Connection: keep-alive',
  'Proxy-Connection: upgrade',
  'Upgrade: websocket',
  'Upgrade: websocket',
  'Upgrade:',
  'Connection: keep-alive , close',
  'Connection: Content-Length',
  'Connection: Upgrade , close',
  'Connection: ,upgrade',
];
const LENGTHS = [
  'Content-Length: 5',
  'Content-Length: 0',
  'content-length:05',
  'Content-Length: 5 ',
  'Content-Length:\t5',
  'Content-Length: 5\t',
  'Content-Length: +5',
  'Content-Length: -5',
  'Content-Length: 5, 5',
  'Content-Length: 0x5',
  'Content-Length:',
  'Content-Length : 5',
  'Content-Length: 5 5',
  'Content-Length: 18446744073709551621',
  'Content-Length: 99999999999999999999',
  'Content-Length: 1e1',
  'Content-Length: 12',
];
const CODINGS = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked',
  'transfer-encoding: CHUNKED',
  'Transfer-Encoding: chunked ',
  'Transfer-Encoding: chunked\t',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding:',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: ,chunked',
  'Transfer-Encoding: chunked,',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: chunked;q=1',
];
const SIZES = [
  '5',
  '5',
  '5',
  '05',
  '0005',
  '5;a',
  '5;a=b',
  '5;a="b;\\"c"',
  '5;a=b;c',
  '5;',
  '5;a ',
  '5 ',
  '5\t',
  '0x5',
  '+5',
  '-5',
  '5;a=',
  '5;=b',
  '5;a=b"c"',
  '5;\xe9',
  '5;a="\xe9"',
  '5;a="b"c',
  '5;;a',
  '5;a;;b',
  ' 5',
  '',
  '5g',
  'ffffffffffffffff5',
  '00000000000000000005',
  '5;a="\t"',
  '5;a="\\\t"',
  '5;a="\\\xe9"',
  '5;a="\x7f"',
  '6',
];
const TRAILERS = [
  'X-Sum: 1',
  'X-Sum: 1',
  'x-more:',
  'Content-Length: 3',
  'Transfer-Encoding: chunked',
  'Host: b',
  ' folded',
  'X : 1',
  'X: a\0',
  'Connection: close',
  'Set-Cookie: a=b',
  'none',
  'grpc-status: 0',
];
const ENDS = ['\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n', ' \r\n'];
const PIECES = [
  '\r\n',
  '\n',
  '\r',
  ' ',
  '\t',
  ':',
  ',',
  ';',
  '\0',
  '\x7f',
  '\x80',
  '\xff',
  '0',
  '5',
  'chunked',
  '\r\n\r\n',
  '/',
  '#',
  '"',
  '=',
  'HTTP/1.1',
  'Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Host: b\r\n',
  'close',
  'upgrade',
  '0\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: s\r\n\r\n',
  '\v',
  '\f',
  '\x85',
  '\xa0',
  '\x1f',
];

export class Generator {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): Case {
    const kind = this.#chance(0.6) ? 'request' : 'response';
    const methods = kind === 'response' && this.#chance(0.15) ? ['HEAD'] : ['GET'];
    let text = kind === 'request' ? this.#request() : this.#response();
    if (this.#chance(0.4)) text = this.#mutate(text);
    const sentinel =
      kind === 'request'
        ? 'GET /next HTTP/1.1\r\nHost: next.test\r\n\r\n'
        : 'HTTP/1.1 299 Next\r\nContent-Length: 1\r\n\r\n.';
    return { kind, methods, text: this.#chance(0.85) ? text + sentinel : text };
  }

  #chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  #below(count: number): number {
    return Math.floor(this.#random.next() * count);
  }

  #pick(choices: readonly string[]): string {
    return choices[this.#below(choices.length)]!;
  }

  /** The usual choice, which comes first in its list, or any. */
  #mostly(choices: readonly string[], probability: number): string {
    return this.#chance(probability) ? choices[0]! : this.#pick(choices);
  }

  #lineEnd(): string {
    return this.#chance(0.985) ? '\r\n' : this.#pick(ENDS);
  }

  #request(): string {
    const lead = this.#chance(0.05) ? '\r\n' : '';
    const method = this.#mostly(METHODS, 0.3);
    const line = `${method} ${this.#mostly(TARGETS, 0.5)} ${this.#mostly(VERSIONS, 0.5)}`;
    return lead + line + this.#lineEnd() + this.#rest(this.#mostly(HOSTS, 0.8));
  }

  #response(): string {
    const interim = this.#chance(0.1) ? 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n' : '';
    const line = `${this.#mostly(VERSIONS, 0.5)} ${this.#mostly(STATUS_LINES, 0.4)}`;
    return interim + line + this.#lineEnd() + this.#rest('');
  }

  #rest(host: string): string {
    const lines: string[] = host === '' ? [] : [host];
    for (let count = this.#below(4); count > 0; count -= 1) lines.push(this.#field());
    if (this.#chance(0.3)) lines.push(this.#pick(CONNECTIONS));
    if (this.#chance(0.15)) lines.push(this.#pick(CONNECTIONS));
    const shape = this.#random.next();
    let body = '';
    if (shape < 0.3) {
      lines.push(this.#mostly(LENGTHS, 0.6));
      body = 'hello';
    } else if (shape < 0.7) {
      lines.push(this.#mostly(CODINGS, 0.7));
      body = this.#chunks();
    }
    if (this.#chance(0.04)) lines.push(this.#pick(LENGTHS));
    if (this.#chance(0.04)) lines.push(this.#pick(CODINGS));
    if (this.#chance(0.3)) lines.reverse();
    return lines.map((line) => this.#recase(line) + this.#lineEnd()).join('') + '\r\n' + body;
  }

  #recase(line: string): string {
    const choice = this.#random.next();
    if (choice < 0.9) return line;
    return choice < 0.95 ? line.toLowerCase() : line.toUpperCase();
  }

  /** Well-formed nine times in ten: a message with one oddity says more than one with five. */
  #field(): string {
    return this.#chance(0.9) ? FIELDS[this.#below(10)]! : this.#pick(FIELDS);
  }

  #chunks(): string {
    let text = '';
    if (this.#chance(0.2)) text += this.#sizedChunk();
    for (let count = this.#below(3); count > 0; count -= 1) {
      text += this.#mostly(SIZES, 0.6) + this.#lineEnd() + 'hello' + this.#lineEnd();
    }
    text +=
      (this.#chance(0.9) ? '0' : this.#pick(['00', '0;a=b', '0 ', '000000', '0x0', '-0', '0;'])) + this.#lineEnd();
    if (this.#chance(0.25)) text += this.#mostly(TRAILERS, 0.4) + this.#lineEnd();
    if (this.#chance(0.1)) text += this.#pick(TRAILERS) + this.#lineEnd();
    return text + (this.#chance(0.97) ? '\r\n' : this.#pick(['XX', '\n', '', '\r']));
  }

  /** A size of one to three digits in either case, and data that hold whatever a parser might stumble over. */
  #sizedChunk(): string {
    let data = this.#pick(PIECES);
    for (let count = this.#below(30); count > 0; count -= 1) data += this.#pick(PIECES);
    const size = data.length.toString(16);
    return `${this.#chance(0.5) ? size : `0${size.toUpperCase()}`}\r\n${data}\r\n`;
  }

  #mutate(text: string): string {
    let mutated = text;
    for (let count = 1 + this.#below(2); count > 0; count -= 1) mutated = this.#mutateOnce(mutated);
    return mutated;
  }

  #mutateOnce(text: string): string {
    const at = this.#below(text.length + 1);
    const before = text.slice(0, at);
    switch (this.#below(6)) {
      case 0:
        return before + this.#pick(PIECES) + text.slice(at);
      case 1:
        return before + this.#pick(PIECES) + text.slice(at + 1);
      case 2:
        return before + text.slice(at + 1);
      case 3:
        return before + String.fromCharCode(this.#below(256)) + text.slice(at + 1);
      case 4:
        return before + text.slice(Math.max(0, at - this.#below(20)));
      default:
        return before;
    }
  }
}
