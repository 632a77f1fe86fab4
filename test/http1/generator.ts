/** Makes messages: mostly well-formed ones from a grammar, then mutations of them. Same seed, same cases. */
import type { Random } from '../../src/shared/random.ts';
import type { Case } from './reading.ts';
import {
  METHODS,
  TARGETS,
  VERSIONS,
  STATUS_LINES,
  HOSTS,
  FIELDS,
  CONNECTIONS,
  LENGTHS,
  CODINGS,
  SIZES,
  TRAILERS,
  ENDS,
  PIECES,
} from './vocabulary.ts';

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
