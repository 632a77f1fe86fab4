import { failure } from './failure.ts';
import type { Statement } from './statement.ts';
import type { Token } from './token.ts';

/** What an import hands to the text it brings in. */
export interface ImportArguments {
  readonly args: readonly Token[];
  /** Lines for `{block}`; null when the import has no block. */
  readonly block: readonly Statement[] | null;
  /** Added to the import chain of every token. */
  readonly link: string;
  readonly warn: (token: Token, message: string) => void;
}

const INDEX = /\{args(?:\[(\d+)\]|\.(\d+))\}/g;
const RANGE = /^\{args\[(-?\d*):(-?\d*)\]\}$/;
const NAMED_BLOCK = /^\{blocks\.([^{}\s]+)\}$/;

/** The statements with `{args[…]}`, `{block}` and `{blocks.name}` replaced. */
export function bindArguments(statements: readonly Statement[], given: ImportArguments): Statement[] {
  return statements.flatMap((statement) => bindStatement(statement, given));
}

function bindStatement(statement: Statement, given: ImportArguments): readonly Statement[] {
  if (definesSnippet(statement)) return [statement];
  const passed = passedBlock(statement, given);
  if (passed !== null) return passed;
  const tokens = [statement.name, ...statement.args].flatMap((token) => bindToken(token, given));
  const [name, ...args] = tokens;
  const block = statement.block === null ? null : bindArguments(statement.block, given);
  if (name !== undefined) return [{ name, args, block }];
  if (block === null) return [];
  throw failure(statement.name, 'no arguments are left to name this block');
}

/** A snippet has arguments and a block of its own; those of the import that brings its definition are not for it. */
function definesSnippet({ name, block }: Statement): boolean {
  return block !== null && name.quote === '' && /^\(.*\)$/.test(name.text);
}

/** Lines that take the place of `{block}` or `{blocks.name}`; null for every other line. */
function passedBlock(statement: Statement, given: ImportArguments): readonly Statement[] | null {
  const { name, args, block } = statement;
  const named = NAMED_BLOCK.exec(name.text)?.[1];
  if (name.quote !== '' || (name.text !== '{block}' && named === undefined)) return null;
  if (args.length > 0 || block !== null) throw failure(name, `${name.text} must stand on a line of its own`);
  const lines = given.block ?? [];
  if (named === undefined) return lines;
  return lines.filter((line) => line.name.text === named).flatMap((line) => line.block ?? []);
}

function bindToken(token: Token, given: ImportArguments): Token[] {
  const importChain = [given.link, ...token.importChain];
  const range = token.text.startsWith('{args[') ? RANGE.exec(token.text) : null;
  if (range !== null) {
    return sliceArguments(range, given.args).map(({ text, raw, quote }) => ({
      ...token,
      text,
      raw,
      quote,
      importChain,
    }));
  }
  if (!token.text.includes('{args')) return [{ ...token, importChain }];
  warnOfIndexes(token, given);
  const text = replaceIndexes(token.text, given.args);
  return [{ ...token, text, raw: replaceIndexes(token.raw, given.args), importChain }];
}

function replaceIndexes(text: string, args: readonly Token[]): string {
  return text.replace(INDEX, (whole, index: string | undefined, dotted: string | undefined) => {
    return args[Number(index ?? dotted)]?.text ?? whole;
  });
}

function warnOfIndexes(token: Token, { args, warn }: ImportArguments): void {
  for (const [whole, index, dotted] of token.text.matchAll(INDEX)) {
    if (dotted !== undefined) warn(token, `${whole} is deprecated; write {args[${dotted}]}`);
    if (args[Number(index ?? dotted)] === undefined) {
      warn(token, `${whole} has no argument: the import gives ${args.length}`);
    }
  }
}

function sliceArguments(range: RegExpExecArray, args: readonly Token[]): readonly Token[] {
  const [, from = '', to = ''] = range;
  return args.slice(from === '' ? 0 : Number(from), to === '' ? args.length : Number(to));
}
