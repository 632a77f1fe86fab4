import { NOT_YET_LAYER4_MATCHERS } from '../../config/schema/layer4/matchers.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { expandRanges } from '../matchers/ranges.ts';
import { parseInlineOrBlock } from '../matchers/set.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, flag, some, texts } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { nearestHint } from '../unknown-word.ts';
import type { Routing } from './routing.ts';

export type MatcherParser = (line: Statement, routing: Routing) => JsonValue;

/** `@<name> <matcher> …` or `@<name> { <matcher>… }`: all of the block must hold. */
export function parseMatcher(line: Statement, routing: Routing): void {
  const { text } = line.name;
  if (text === '@') throw failure(line.name, 'a matcher needs a name after its @');
  if (routing.matchers.has(text)) throw failure(line.name, `matcher is defined more than once: ${text}`);
  routing.matchers.set(text, parseSet(line, routing));
}

/** By name. */
export const MATCHERS: Readonly<Record<string, MatcherParser>> = {
  remote_ip: (line) => ({ ranges: expandRanges(some(line, 1)) }),
  tls: parseTls,
  http: (line, { adaptation }) => {
    const bare = line.args.length === 0 && line.block === null;
    return [bare ? {} : adaptation.origins.mark(parseInlineOrBlock(line.name, line, ''), line.name)];
  },
  ssh: (line) => {
    flag(line);
    return {};
  },
  not: (line, routing) => [parseSet(line, routing)],
};

/** The set behind the first word of a line, or in its block. */
function parseSet(line: Statement, routing: Routing): JsonObject {
  const [kind, ...args] = line.args;
  const set: JsonObject = {};
  routing.adaptation.origins.mark(set, line.name);
  if (kind !== undefined) {
    addMatcher({ name: kind, args, block: line.block }, set, routing);
    return set;
  }
  if (blockOf(line).length === 0) throw failure(line.name, `'${line.name.text}' names no matcher`);
  for (const inner of blockOf(line)) addMatcher(inner, set, routing);
  return set;
}

function addMatcher(line: Statement, set: JsonObject, routing: Routing): void {
  const { text } = line.name;
  if (NOT_YET_LAYER4_MATCHERS.includes(text)) {
    throw failure(line.name, `'${text}' (layer4 matcher) is not supported yet`);
  }
  const parse = Object.hasOwn(MATCHERS, text) ? MATCHERS[text] : undefined;
  if (parse === undefined) {
    const known = Object.keys(MATCHERS);
    const hint = nearestHint(text, known);
    throw failure(line.name, `unrecognized layer4 matcher '${text}'${hint}: known are ${known.join(', ')}`);
  }
  if (set[text] !== undefined) {
    throw failure(line.name, `the matcher '${text}' is written twice in one set, of which all must hold`);
  }
  const { origins } = routing.adaptation;
  set[text] = parse(line, routing);
  origins.markField(set, text, line.name);
}

/** `tls`, `tls sni <name>…`, `tls { sni <name>…; alpn <protocol>… }`. */
function parseTls(line: Statement): JsonObject {
  const [kind, ...args] = line.args;
  const lines = kind === undefined ? blockOf(line) : [{ name: kind, args, block: line.block }];
  const condition: JsonObject = {};
  for (const inner of lines) {
    const { text } = inner.name;
    if (text !== 'sni' && text !== 'alpn') {
      throw failure(inner.name, `'${text}' (in a layer4 tls matcher) is not supported yet: known are sni, alpn`);
    }
    if (condition[text] !== undefined) throw failure(inner.name, `${text} already specified`);
    condition[text] = texts(some(inner, 1));
  }
  return condition;
}
