import type { Directive } from '../context.ts';
import { setOwn, type JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, integer, one, some, texts } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';
import { handlerDirective } from './handler.ts';
import { parseResponseMatcher } from './response-matcher.ts';

const FORMATS: readonly string[] = Object.freeze(['gzip', 'zstd', 'br']);
const DEFAULT_FORMATS: readonly string[] = Object.freeze(['zstd', 'gzip']);

/**
 * `encode [<matcher>] [<format>…] { gzip [<level>]; zstd [<level>]; br [<quality>]; minimum_length <n>; match … }`.
 * Formats of the block are preferred to those in front of it, each in the order written; without any: zstd, gzip.
 */
export const encode: Directive = handlerDirective('encode', (statement) => {
  const encodings: JsonObject = {};
  const handler: JsonObject = { handler: 'encode', encodings };
  for (const line of blockOf(statement)) {
    const name = line.name.text;
    if (name === 'minimum_length') handler['minimum_length'] = integer(one(line), 'bad length');
    else if (name === 'match') handler['match'] = parseResponseMatcher(line);
    else addFormat(encodings, line.name, parseLevel(line));
  }
  const inline = texts(statement.args);
  const named = Object.keys(encodings).length + inline.length > 0;
  for (const token of statement.args) addFormat(encodings, token, {});
  if (!named) for (const format of DEFAULT_FORMATS) setOwn(encodings, format, {});
  handler['prefer'] = Object.keys(encodings);
  return [handler];
});

function addFormat(encodings: JsonObject, token: Token, options: JsonObject): void {
  const { text } = token;
  if (!FORMATS.includes(text)) {
    throw failure(token, `unrecognized encode format or subdirective '${text}': formats are ${FORMATS.join(', ')}`);
  }
  if (Object.hasOwn(encodings, text)) throw failure(token, `encode format '${text}' already specified`);
  setOwn(encodings, text, options);
}

function parseLevel(line: Statement): JsonObject {
  const [level] = some(line, 0, 1);
  if (level === undefined) return {};
  return { level: line.name.text === 'zstd' ? level.text : integer(level, 'bad level') };
}
