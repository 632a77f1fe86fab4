import { ConfigError } from '../../../shared/config-error.ts';
import { readHeredoc } from './heredoc.ts';
import type { Quote, Token } from './token.ts';

interface Cursor {
  readonly source: string;
  readonly file: string;
  offset: number;
  line: number;
  /** A newline was passed since the last token. */
  newLine: boolean;
}

/**
 * Cuts Caddyfile text into tokens. Tokens are separated by white space; `#` opens a comment only where a token
 * could begin. Throws a `ConfigError` for an open quote and a broken heredoc.
 */
export function lex(text: string, file: string): Token[] {
  const tokens: Token[] = [];
  for (const { token } of lexPieces(text, file)) if (token !== null) tokens.push(token);
  return tokens;
}

/** A token and what stands before it: white space, comments, joined lines. The last piece has no token. */
export interface Piece {
  readonly gap: string;
  readonly token: Token | null;
}

/** As `lex`, with all that it leaves out. */
export function* lexPieces(text: string, file: string): Generator<Piece, undefined> {
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const cursor: Cursor = { source, file, offset: 0, line: 1, newLine: true };
  for (;;) {
    const start = cursor.offset;
    skipBlanks(cursor);
    const gap = source.slice(start, cursor.offset);
    if (cursor.offset >= source.length) {
      yield { gap, token: null };
      return undefined;
    }
    yield { gap, token: readToken(cursor) };
  }
}

function skipBlanks(cursor: Cursor): void {
  const { source } = cursor;
  while (cursor.offset < source.length) {
    const char = source[cursor.offset] ?? '';
    if (char === '#') {
      const end = source.indexOf('\n', cursor.offset);
      cursor.offset = end === -1 ? source.length : end;
    } else if (char === '\n') {
      cursor.line++;
      cursor.newLine = true;
      cursor.offset++;
    } else if (isSpace(char)) {
      cursor.offset++;
    } else {
      const joined = joinLength(source, cursor.offset);
      if (joined === 0) return;
      cursor.line++;
      cursor.offset += joined;
    }
  }
}

/** Length of a backslash with its newline at `offset`, 0 when there is none. */
function joinLength(source: string, offset: number): number {
  if (source[offset] !== '\\') return 0;
  if (source[offset + 1] === '\n') return 2;
  return source[offset + 1] === '\r' && source[offset + 2] === '\n' ? 3 : 0;
}

function readToken(cursor: Cursor): Token {
  const { source, offset } = cursor;
  const first = source[offset];
  if (first === '"') return readQuoted(cursor);
  if (first === '`') return readBackticked(cursor);
  if (first === '<' && source[offset + 1] === '<') {
    const heredoc = readHeredoc(source, offset, cursor.file, cursor.line);
    if (heredoc !== null) return finish(cursor, heredoc.text, '<<', heredoc.end, heredoc.lines);
  }
  return readBareWord(cursor);
}

function readBareWord(cursor: Cursor): Token {
  const { source, offset } = cursor;
  let end = offset;
  while (end < source.length && !isSpace(source[end] ?? '') && joinLength(source, end) === 0) end++;
  const word = source.slice(offset, end);
  return finish(cursor, word.startsWith('\\<<') ? word.slice(1) : word, '', end, 0);
}

/** In double quotes only `\"` is an escape; `\\` stays two characters but does not escape what follows. */
function readQuoted(cursor: Cursor): Token {
  const { source, offset } = cursor;
  let text = '';
  for (let at = offset + 1; at < source.length; at++) {
    const char = source[at] ?? '';
    if (char === '"') return finish(cursor, text, '"', at + 1, newlinesIn(text));
    if (char === '\\' && at + 1 < source.length) {
      const next = source[++at] ?? '';
      text += next === '"' ? next : char + next;
    } else {
      text += char;
    }
  }
  throw openQuote(cursor, '"');
}

function readBackticked(cursor: Cursor): Token {
  const end = cursor.source.indexOf('`', cursor.offset + 1);
  if (end === -1) throw openQuote(cursor, '`');
  const text = cursor.source.slice(cursor.offset + 1, end);
  return finish(cursor, text, '`', end + 1, newlinesIn(text));
}

function openQuote(cursor: Cursor, quote: string): ConfigError {
  const { file, line } = cursor;
  return new ConfigError(`the quote ${quote} opened here is never closed, at ${file}:${line}`, { file, line });
}

function finish(cursor: Cursor, text: string, quote: Quote, end: number, lines: number): Token {
  const token: Token = {
    text,
    raw: cursor.source.slice(cursor.offset, end),
    quote,
    file: cursor.file,
    line: cursor.line,
    startsLine: cursor.newLine,
    importChain: [],
  };
  cursor.offset = end;
  cursor.line += lines;
  cursor.newLine = false;
  return token;
}

function newlinesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

function isSpace(char: string): boolean {
  return (
    char === ' ' ||
    char === '\n' ||
    char === '\t' ||
    char === '\r' ||
    (char > '\u007F' && /\s/u.test(char)) ||
    char === '\v' ||
    char === '\f'
  );
}
