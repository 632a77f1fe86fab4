import { canonicalHeaderName } from '../header-name.ts';
import { defined, type JsonObject, type JsonValue, setOwn } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { MatcherModule } from './module.ts';

/** Captures go by the name written, else by the name of the matcher. */
function pattern(name: string, text: string): JsonObject {
  return defined({ name: name === '' ? undefined : name, pattern: text });
}

export const pathRegexp: MatcherModule = {
  name: 'path_regexp',
  parse(lines: readonly Statement[], matcherName: string): JsonValue {
    const [line, second] = lines;
    if (second !== undefined) throw failure(second.name, 'the path_regexp matcher is written once in a set');
    const args = line === undefined ? [] : some(line, 1, 2);
    return pattern(args.length === 2 ? (args[0]?.text ?? '') : matcherName, args.at(-1)?.text ?? '');
  },
};

function byField(lines: readonly Statement[], matcherName: string, spell: (name: string) => string): JsonObject {
  const fields: JsonObject = {};
  for (const line of lines) {
    const args = some(line, 2, 3);
    const [field, text] = args.slice(-2);
    const name = args.length === 3 ? (args[0]?.text ?? '') : matcherName;
    setOwn(fields, spell(field?.text ?? ''), pattern(name, text?.text ?? ''));
  }
  return fields;
}

/** `header_regexp [name] Field pattern`. */
export const headerRegexp: MatcherModule = {
  name: 'header_regexp',
  parse: (lines, matcherName) => byField(lines, matcherName, canonicalHeaderName),
};

/** `vars_regexp [name] variable pattern`. */
export const varsRegexp: MatcherModule = {
  name: 'vars_regexp',
  parse: (lines, matcherName) => byField(lines, matcherName, (name) => name),
};
