import { failure } from './syntax/failure.ts';
import { one } from './syntax/read.ts';
import type { Statement } from './syntax/statement.ts';
import { parseDurationNs } from './syntax/values.ts';

/** `drain off|immediate|<duration>`: a word, or nanoseconds. */
export function readDrain(line: Statement): string | number {
  const token = one(line);
  if (token.text === 'off' || token.text === 'immediate') return token.text;
  const ns = parseDurationNs(token.text);
  if (ns === null) throw failure(token, `bad drain '${token.text}': write off, immediate, or a duration such as 30s`);
  return ns;
}
