/** Reads the arguments of one line. Nothing that is written is ignored: surplus words are errors. */
import { failure } from './failure.ts';
import { parseByteSize, parseDurationNs, parseInteger } from './values.ts';
import type { Statement } from './statement.ts';
import type { Token } from './token.ts';

export function wrongCount(statement: Statement): Error {
  const last = statement.args.at(-1) ?? statement.name;
  return failure(last, `wrong argument count or unexpected line ending after '${last.text}'`);
}

function noBlock(statement: Statement): void {
  if (statement.block === null) return;
  throw failure(statement.name, `'${statement.name.text}' takes no block here: remove the braces`);
}

/** The lines of the block; an absent block has none. */
export function blockOf(statement: Statement): readonly Statement[] {
  return statement.block ?? [];
}

export function flag(statement: Statement): void {
  noBlock(statement);
  if (statement.args.length > 0) throw wrongCount(statement);
}

export function one(statement: Statement): Token {
  noBlock(statement);
  return oneWithBlock(statement);
}

export function oneWithBlock(statement: Statement): Token {
  const [token, surplus] = statement.args;
  if (token === undefined || surplus !== undefined) throw wrongCount(statement);
  return token;
}

/** Between `min` and `max` arguments and no block. */
export function some(statement: Statement, min: number, max: number = Number.POSITIVE_INFINITY): readonly Token[] {
  noBlock(statement);
  const count = statement.args.length;
  if (count < min || count > max) throw wrongCount(statement);
  return statement.args;
}

export function texts(tokens: readonly Token[]): string[] {
  return tokens.map((token) => token.text);
}

/** Nanoseconds. `label` begins the message of a fault: `bad duration value`. */
export function duration(token: Token, label = 'bad duration value'): number {
  const value = parseDurationNs(token.text);
  if (value === null) throw failure(token, `${label} '${token.text}': write a number and a unit, such as 10s or 1m30s`);
  return value;
}

/** Nanoseconds; a bare number counts seconds. */
export function secondsOrDuration(token: Token, label: string): number {
  return /^\d+$/.test(token.text) ? duration({ ...token, text: `${token.text}s` }, label) : duration(token, label);
}

export function integer(token: Token, label: string): number {
  const value = parseInteger(token.text);
  if (value === null) throw failure(token, `${label} '${token.text}': write a whole number`);
  return value;
}

/** Bytes. */
export function byteSize(token: Token): number {
  const value = parseByteSize(token.text);
  if (value === null)
    throw failure(token, `invalid byte size '${token.text}': write a number, or one such as 4KB or 4KiB`);
  return value;
}

/** `200`, or `2xx` which is stored as 2. */
export function statusOrClass(token: Token): number {
  const { text } = token;
  if (/^[1-5]xx$/.test(text)) return Number(text[0]);
  const code = parseInteger(text);
  if (code === null || code < 100 || code > 999) {
    throw failure(token, `bad status value '${text}': write a code such as 200 or a class such as 2xx`);
  }
  return code;
}
