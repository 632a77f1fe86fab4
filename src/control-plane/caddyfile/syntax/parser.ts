import type { FileReader } from '../files.ts';
import { failure } from './failure.ts';
import {
  expandImports,
  type ImportScope,
  type ImportTrail,
  isImport,
  MAX_IMPORTED_LINES,
  parseText,
  resolveImport,
} from './imports.ts';
import type { Statement } from './statement.ts';
import { isBare, type Place, type Token } from './token.ts';

export interface SiteBlock {
  readonly keys: readonly Token[];
  /** Only the first site may do without braces, and then it takes the rest of the file. */
  readonly braced: boolean;
  readonly body: readonly Statement[];
}

/** A Caddyfile with its imports followed and its snippets used up. */
export interface Document {
  readonly globals: readonly Statement[];
  readonly sites: readonly SiteBlock[];
  readonly namedRoutes: ReadonlyMap<string, { readonly name: Token; readonly body: readonly Statement[] }>;
}

export interface ParseOptions {
  readonly filename: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: FileReader;
  readonly warn: (place: Place, directive: string, message: string) => void;
}

interface Draft {
  globals: readonly Statement[] | null;
  readonly sites: SiteBlock[];
  readonly namedRoutes: Map<string, { readonly name: Token; readonly body: readonly Statement[] }>;
  readonly scope: ImportScope;
  /** Addresses of a site whose list goes on in the next line. */
  keys: Token[];
  /** The one site without braces: everything below its addresses belongs to it. */
  open: (SiteBlock & { readonly body: Statement[] }) | null;
}

export function parseDocument(text: string, options: ParseOptions): Document {
  const { filename, env, files, warn } = options;
  const scope: ImportScope = { snippets: new Map(), files, env, warn, budget: { lines: MAX_IMPORTED_LINES } };
  const draft: Draft = { globals: null, sites: [], namedRoutes: new Map(), scope, keys: [], open: null };
  readTopLevel(parseText(text, filename, scope), draft, [filename]);
  if (draft.open !== null) draft.sites.push(draft.open);
  const [pending] = draft.keys;
  if (pending !== undefined) throw failure(pending, 'the list of site addresses ends with a comma: one is missing');
  return { globals: draft.globals ?? [], sites: draft.sites, namedRoutes: draft.namedRoutes };
}

function readTopLevel(statements: readonly Statement[], draft: Draft, trail: ImportTrail): void {
  for (const statement of statements) {
    if (draft.open !== null) {
      for (const line of expandImports([statement], draft.scope, trail)) draft.open.body.push(line);
    } else if (isImport(statement)) readImported(statement, draft, trail);
    else readDefinition(statement, draft, trail);
  }
}

function readImported(statement: Statement, draft: Draft, trail: ImportTrail): void {
  for (const found of resolveImport(statement, draft.scope, trail)) readTopLevel(found.statements, draft, found.trail);
}

function readDefinition(statement: Statement, draft: Draft, trail: ImportTrail): void {
  const { name, block } = statement;
  if (isBare(name, '{') || isBare(name, '{}')) readGlobals(statement, draft, trail);
  else if (draft.keys.length > 0 || block === null) readSite(statement, draft, trail);
  else if (/^&?\(.*\)$/.test(name.text) && name.quote === '') readNamed(statement, block, draft, trail);
  else readSite(statement, draft, trail);
}

function readGlobals(statement: Statement, draft: Draft, trail: ImportTrail): void {
  const { name, block } = statement;
  if (draft.globals !== null)
    throw failure(name, 'anonymous blocks are not supported: global options are written once');
  if (draft.sites.length > 0 || draft.keys.length > 0) {
    throw failure(name, 'server block without any key is global configuration, and if used, it must be first');
  }
  draft.globals = expandImports(block ?? [], draft.scope, trail);
}

function readNamed(statement: Statement, block: readonly Statement[], draft: Draft, trail: ImportTrail): void {
  const { name, args } = statement;
  if (args[0] !== undefined) throw failure(args[0], `unexpected '${args[0].text}' after ${name.text}`);
  const isRoute = name.text.startsWith('&');
  const title = name.text.slice(isRoute ? 2 : 1, -1);
  const kind = isRoute ? 'named route' : 'snippet';
  if (title === '') throw failure(name, `a ${kind} needs a name between its parentheses`);
  const known = isRoute ? draft.namedRoutes.has(title) : draft.scope.snippets.has(title);
  if (known) throw failure(name, `redeclaration of previously declared ${kind} ${title}`);
  if (isRoute) draft.namedRoutes.set(title, { name, body: expandImports(block, draft.scope, trail) });
  else draft.scope.snippets.set(title, { name, body: block });
}

function readSite(statement: Statement, draft: Draft, trail: ImportTrail): void {
  const { continues, keys } = readKeys([statement.name, ...statement.args], statement.block !== null);
  draft.keys = [...draft.keys, ...keys];
  if (continues) return;
  const body = expandImports(statement.block ?? [], draft.scope, trail);
  const site = { keys: draft.keys, braced: statement.block !== null, body };
  draft.keys = [];
  if (site.braced || draft.sites.length > 0) draft.sites.push(site);
  else draft.open = site;
}

function readKeys(tokens: readonly Token[], hasBlock: boolean): { continues: boolean; keys: Token[] } {
  const keys: Token[] = [];
  let continues = false;
  for (const [index, token] of tokens.entries()) {
    checkKey(token);
    continues = token.text.endsWith(',');
    const text = continues ? token.text.slice(0, -1) : token.text;
    if (text.includes(',')) {
      throw failure(
        token,
        `site addresses cannot contain a comma ',': '${text}' - put a space after the comma to separate site addresses`,
      );
    }
    if (continues && hasBlock && index === tokens.length - 1) {
      throw failure(token, `site addresses cannot end with a comma: '${token.text}' - remove the comma before '{'`);
    }
    if (text !== '') keys.push({ ...token, text });
  }
  return { continues, keys };
}

function checkKey(token: Token): void {
  const { text } = token;
  if (text.startsWith('@')) {
    const what = 'request matchers may not be defined globally, they must be in a site block';
    throw failure(token, `${what}; found ${text}`);
  }
  if (text.endsWith('{')) {
    const what = `site addresses cannot end with a curly brace: '${text}'`;
    throw failure(token, `${what} - put a space between the token and the brace`);
  }
}
