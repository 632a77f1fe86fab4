import { failure } from './failure.ts';
import { isBare, type Token } from './token.ts';

/** One logical line and, when it ends in `{`, the lines of its block. */
export interface Statement {
  /** First token. For an anonymous block the brace itself. */
  readonly name: Token;
  readonly args: readonly Token[];
  readonly block: readonly Statement[] | null;
}

/** Blocks within blocks, imports included: beyond it lies a mistake or an attack, not a config. */
export const MAX_NESTING = 100;

/** Builds the tree of lines. Throws a `ConfigError` for braces that do not match. */
export function parseStatements(tokens: readonly Token[]): Statement[] {
  const reader = { lines: splitLines(tokens), next: 0 };
  const statements = readBlock(reader, null, 0);
  return statements;
}

interface LineReader {
  readonly lines: readonly (readonly Token[])[];
  next: number;
}

function splitLines(tokens: readonly Token[]): Token[][] {
  const lines: Token[][] = [];
  for (const token of tokens) {
    const current = lines.at(-1);
    if (current === undefined || token.startsLine) lines.push([token]);
    else current.push(token);
  }
  return lines;
}

function readBlock(reader: LineReader, opener: Token | null, depth: number): Statement[] {
  const statements: Statement[] = [];
  while (reader.next < reader.lines.length) {
    const line = reader.lines[reader.next++] ?? [];
    if (closesBlock(line, opener, statements)) return statements;
    statements.push(readStatement(reader, line, depth));
  }
  if (opener !== null) throw failure(opener, `the block of '${opener.text}' is never closed: '}' is missing`);
  return statements;
}

function closesBlock(line: readonly Token[], opener: Token | null, before: readonly Statement[]): boolean {
  const [first, second] = line;
  if (first === undefined || !isBare(first, '}')) return false;
  if (opener === null) throw unopened(first, before);
  if (second !== undefined) throw failure(second, `unexpected '${second.text}' after '}' on same line`);
  return true;
}

/** A brace glued to the word before it opens nothing, and is the usual reason. */
function unopened(brace: Token, before: readonly Statement[]): Error {
  const glued = before.findLast(({ name, args, block }) => block === null && (args.at(-1) ?? name).text.endsWith('{'));
  if (glued === undefined) return failure(brace, "unexpected '}' because no matching opening brace");
  const token = glued.args.at(-1) ?? glued.name;
  const what = glued === before[0] ? 'site addresses' : 'arguments';
  const hint = 'put a space between the token and the brace';
  return failure(token, `${what} cannot end with a curly brace: '${token.text}' - ${hint}`);
}

function readStatement(reader: LineReader, line: readonly Token[], depth: number): Statement {
  const [name] = line;
  if (name === undefined) throw new RangeError('a line has at least one token');
  const opening = openingOf(line);
  checkBraces(line.slice(0, line.length - opening.braces));
  const args = line.slice(1, Math.max(1, line.length - opening.braces));
  if (!opening.opens) return { name, args, block: opening.braces > 0 ? [] : null };
  if (depth >= MAX_NESTING) throw failure(name, `blocks are nested more than ${MAX_NESTING} deep`);
  return { name, args, block: readBlock(reader, name, depth + 1) };
}

/** How many tokens at the end of the line are braces, and whether the block goes on below. */
function openingOf(line: readonly Token[]): { readonly braces: number; readonly opens: boolean } {
  const last = line.at(-1);
  if (isBare(last, '{')) return { braces: 1, opens: true };
  if (isBare(last, '{}')) return { braces: 1, opens: false };
  if (isBare(last, '}') && isBare(line.at(-2), '{')) return { braces: 2, opens: false };
  return { braces: 0, opens: false };
}

function checkBraces(tokens: readonly Token[]): void {
  for (const token of tokens) {
    if (isBare(token, '{')) throw failure(token, "unexpected next token after '{' on same line");
    if (isBare(token, '}')) throw failure(token, "unexpected '}': a closing brace stands on a line of its own");
  }
}
