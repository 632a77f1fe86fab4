import type { JsonObject, JsonValue } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';
import { expression } from './expression.ts';
import { header, query, vars } from './fields.ts';
import { host, method, path, protocol } from './lists.ts';
import type { MatcherModule } from './module.ts';
import { clientIp, remoteIp } from './ranges.ts';
import { headerRegexp, pathRegexp, varsRegexp } from './regexp.ts';

/** `not <matcher> …` or `not { … }`; several are all negated. */
const not: MatcherModule = {
  name: 'not',
  parse: (lines, matcherName): JsonValue => lines.map((line) => parseInlineOrBlock(line.name, line, matcherName)),
};

const MODULES: ReadonlyMap<string, MatcherModule> = new Map(
  [
    path,
    host,
    method,
    query,
    header,
    protocol,
    remoteIp,
    clientIp,
    not,
    pathRegexp,
    headerRegexp,
    expression,
    vars,
    varsRegexp,
  ].map((module) => [module.name, module]),
);

/** A set from the lines of a block: all of its matchers must hold. */
function parseMatcherSet(lines: readonly Statement[], matcherName: string): JsonObject {
  const set: JsonObject = {};
  for (const [name, sameKind] of Map.groupBy(lines, (line) => line.name.text)) {
    const module = MODULES.get(name);
    const [first] = sameKind;
    if (first === undefined) continue;
    if (module === undefined) throw failure(first.name, unknownMatcher(name));
    set[name] = module.parse(sameKind, matcherName);
  }
  return set;
}

function unknownMatcher(name: string): string {
  return `unrecognized matcher module '${name}': known are ${[...MODULES.keys()].toSorted().join(', ')}`;
}

/** The set that stands behind `opener` on its line, or in its block. */
export function parseInlineOrBlock(opener: Token, statement: Statement, matcherName: string): JsonObject {
  const [kind, ...args] = statement.args;
  if (kind === undefined) {
    if (statement.block === null) throw failure(opener, `'${opener.text}' names no matcher`);
    return parseMatcherSet(blockOf(statement), matcherName);
  }
  if (kind.quote !== '' && args.length === 0 && statement.block === null) {
    return { expression: expression.parse([{ name: kind, args: [kind], block: null }], matcherName) };
  }
  return parseMatcherSet([{ name: kind, args, block: statement.block }], matcherName);
}

/** `@name …`, the definition of a named matcher. */
export function parseMatcherDefinition(statement: Statement): JsonObject {
  return parseInlineOrBlock(statement.name, statement, statement.name.text.slice(1));
}
