import path from 'node:path';
import type { FileReader } from '../files.ts';
import { OversizeError } from '../../helper/oversize-error.ts';
import { bindArguments } from './arguments.ts';
import { substituteEnvironment } from './environment.ts';
import { failure } from './failure.ts';
import { lex } from './lexer.ts';
import { MAX_NESTING, parseStatements, type Statement } from './statement.ts';
import type { Place, Token } from './token.ts';

/** All that `import` needs while one Caddyfile is read. */
export interface ImportScope {
  readonly snippets: Map<string, Snippet>;
  readonly files: FileReader;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly warn: (place: Place, directive: string, message: string) => void;
  /** Lines that imports may still bring in: a snippet that imports others many times must not fill the memory. */
  readonly budget: { lines: number };
}

interface Snippet {
  readonly name: Token;
  readonly body: readonly Statement[];
}

/** Where an import stands: the sources that are being brought in right now, innermost last. */
export type ImportTrail = readonly string[];

interface Source {
  /** Identity in the graph of imports: `<file>` or `<file>:<snippet>`. */
  readonly node: string;
  readonly body: readonly Statement[];
}

/** Lines that imports of one Caddyfile may bring in, in all. */
export const MAX_IMPORTED_LINES = 1_000_000;

export function parseText(text: string, file: string, { env, warn }: Pick<ImportScope, 'env' | 'warn'>): Statement[] {
  const unset = (name: string, line: number): void =>
    warn({ file, line }, `{$${name}}`, `the environment has no ${name}: set it, or write {$${name}:<default>}`);
  return parseStatements(lex(substituteEnvironment(text, env, unset), file));
}

/** What the `import` statement brings in, its own imports not yet followed, and the trail to follow them with. */
export function resolveImport(
  statement: Statement,
  scope: ImportScope,
  trail: ImportTrail,
): readonly { readonly statements: Statement[]; readonly trail: ImportTrail }[] {
  const [what, ...args] = statement.args;
  if (what === undefined) throw failure(statement.name, 'import requires a non-empty filepath');
  const link = `${what.file}:${what.line} (import ${what.text})`;
  const warn = (token: Token, message: string): void => scope.warn(token, 'import', message);
  return findSources(what, scope).map((source) => {
    checkTrail(what, source.node, trail);
    const statements = bindArguments(source.body, { args, block: statement.block, link, warn });
    spend(what, scope, countLines(statements));
    return { statements, trail: [...trail, source.node] };
  });
}

/** The statements with every import inside them, at any depth, replaced by what it brings in. */
export function expandImports(
  statements: readonly Statement[],
  scope: ImportScope,
  trail: ImportTrail,
  depth = 0,
): Statement[] {
  return statements.flatMap((statement) => {
    if (depth > MAX_NESTING) throw failure(statement.name, `blocks are nested more than ${MAX_NESTING} deep`);
    if (isImport(statement)) {
      const found = resolveImport(statement, scope, trail);
      return found.flatMap((inner) => expandImports(inner.statements, scope, inner.trail, depth + 1));
    }
    if (statement.block === null) return [statement];
    return [{ ...statement, block: expandImports(statement.block, scope, trail, depth + 1) }];
  });
}

export function isImport(statement: Statement): boolean {
  return statement.name.quote === '' && statement.name.text === 'import';
}

function findSources(what: Token, scope: ImportScope): readonly Source[] {
  const snippet = scope.snippets.get(what.text);
  if (snippet !== undefined) return [{ node: `${snippet.name.file}:${what.text}`, body: snippet.body }];
  if (what.text === '') throw failure(what, 'import requires a non-empty filepath');
  const target = path.isAbsolute(what.text) ? what.text : path.join(path.dirname(what.file), what.text);
  if (!what.text.includes('*')) return [readSource(what, target, scope)];
  if (what.text.indexOf('*') !== what.text.lastIndexOf('*')) {
    throw failure(what, `glob pattern may only contain one wildcard (*), but has others: ${what.text}`);
  }
  const names = scope.files.glob(target);
  if (names.length === 0) scope.warn(what, 'import', `no files match the import pattern ${what.text}`);
  return names.map((name) => readSource(what, name, scope));
}

function readSource(what: Token, name: string, scope: ImportScope): Source {
  let text: string;
  try {
    text = scope.files.readFile(name);
  } catch (error) {
    if (error instanceof OversizeError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw failure(what, `file to import not found: ${what.text} is neither a snippet nor a readable file (${reason})`);
  }
  return { node: name, body: parseText(text, name, scope) };
}

function checkTrail(what: Token, node: string, trail: ImportTrail): void {
  if (trail.includes(node)) {
    const from = trail.at(-1) ?? node;
    throw failure(what, `a cycle of imports exists between ${from} and ${node}`);
  }
  if (trail.length > MAX_NESTING) throw failure(what, `imports are nested more than ${MAX_NESTING} deep`);
}

function spend(what: Token, scope: ImportScope, lines: number): void {
  scope.budget.lines -= lines;
  if (scope.budget.lines < 0) throw failure(what, `imports bring in more than ${MAX_IMPORTED_LINES} lines`);
}

function countLines(statements: readonly Statement[]): number {
  return statements.reduce((sum, { block }) => sum + 1 + (block === null ? 0 : countLines(block)), 0);
}
