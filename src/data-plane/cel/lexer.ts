/** CEL text to tokens. */
import { celFault } from './fault.ts';

type TokenKind = 'text' | 'integer' | 'word' | 'placeholder' | 'sign' | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** Value of a text, digits of an integer, name of a placeholder, else as written. */
  readonly value: string;
  /** Index of the first character. */
  readonly at: number;
}

const SPACE = /\s+|\/\/[^\n]*/y;
const PLACEHOLDER = /\{([A-Za-z_?%$][^\s{}"'`\\:,]*)\}/y;
const INTEGER = /0x[0-9A-Fa-f]+|\d+/y;
const WORD = /[A-Za-z_]\w*/y;
const SIGN = /&&|\|\||==|!=|<=|>=|[<>!()[\]{},:.-]/y;
const QUOTES = '\'"`';

const ESCAPES: Readonly<Record<string, string>> = Object.freeze({
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
});
const CODE_ESCAPE = /x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-3][0-7]{2})/y;
const MAX_CODE_POINT = 0x10ffff;

/** The last token is `end`. Throws `ConfigError`. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const { token, end } = readToken(text, at);
    tokens.push(token);
    at = skipSpace(text, end);
  }
  tokens.push({ kind: 'end', value: '', at: text.length });
  return tokens;
}

interface ReadToken {
  readonly token: Token;
  readonly end: number;
}

function readToken(text: string, at: number): ReadToken {
  const isRaw = /^[rR]['"]/.test(text.slice(at, at + 2));
  if (isRaw || QUOTES.includes(text[at]!)) return readText(text, at, isRaw);
  const placeholder = match(PLACEHOLDER, text, at);
  if (placeholder !== null) return tokenOf('placeholder', placeholder, at, placeholder[1]);
  const integer = match(INTEGER, text, at);
  if (integer !== null) return readInteger(text, at, integer);
  const word = match(WORD, text, at);
  if (word !== null) return tokenOf('word', word, at);
  const sign = match(SIGN, text, at);
  if (sign !== null) return tokenOf('sign', sign, at);
  if ('+-*/%'.includes(text[at]!)) throw celFault(text, at, 'arithmetic is not supported');
  throw celFault(text, at, `unexpected '${text[at]!}'`);
}

function tokenOf(kind: TokenKind, found: RegExpExecArray, at: number, value: string = found[0]): ReadToken {
  return { token: { kind, value, at }, end: at + found[0].length };
}

function readInteger(text: string, at: number, found: RegExpExecArray): ReadToken {
  const end = at + found[0].length;
  if (/^[\w.]/.test(text.slice(end))) throw celFault(text, at, 'only whole numbers are supported');
  const value = Number(found[0]);
  if (!Number.isSafeInteger(value)) throw celFault(text, at, 'the number is too large');
  return { token: { kind: 'integer', value: String(value), at }, end };
}

/** Backticks and `r'…'` take every character as it is. */
function readText(text: string, start: number, isRaw: boolean): ReadToken {
  const from = isRaw ? start + 1 : start;
  const quote = text[from]!;
  const plain = isRaw || quote === '`';
  let value = '';
  for (let at = from + 1; at < text.length; at += 1) {
    const character = text[at]!;
    if (character === quote) return { token: { kind: 'text', value, at: start }, end: at + 1 };
    if (character !== '\\' || plain) {
      value += character;
      continue;
    }
    const escape = readEscape(text, at + 1);
    value += escape.value;
    at += escape.length;
  }
  throw celFault(text, start, `the text has no closing ${quote}`);
}

function readEscape(text: string, at: number): { readonly value: string; readonly length: number } {
  const character = text[at] ?? '';
  if (character !== '' && `\\?${QUOTES}`.includes(character)) return { value: character, length: 1 };
  const simple = Object.hasOwn(ESCAPES, character) ? ESCAPES[character] : undefined;
  if (simple !== undefined) return { value: simple, length: 1 };
  const found = match(CODE_ESCAPE, text, at);
  if (found === null) throw celFault(text, at - 1, 'unknown escape (write \\\\ for a backslash)');
  const [whole, byte, short, long, octal] = found;
  const code = octal === undefined ? Number.parseInt(byte ?? short ?? long ?? '', 16) : Number.parseInt(octal, 8);
  if (code > MAX_CODE_POINT) throw celFault(text, at - 1, 'the escape is no character');
  return { value: String.fromCodePoint(code), length: whole.length };
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (let found = match(SPACE, text, at); found !== null; found = match(SPACE, text, at)) at += found[0].length;
  return at;
}

/** A fresh copy each time: a sticky expression keeps its place. */
function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  const sticky = new RegExp(pattern.source, 'y');
  sticky.lastIndex = at;
  return sticky.exec(text);
}
