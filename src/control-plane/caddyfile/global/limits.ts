import { type Adaptation, setField } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, integer, one, some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { nearestHint } from '../unknown-word.ts';

const NAMES: readonly string[] = Object.freeze([
  'connections',
  'connections_per_source',
  'header_fields',
  'requests_per_connection',
  'streams_per_connection',
]);

/** `limits { connections|connections_per_source|header_fields|requests_per_connection|streams_per_connection <n> }`. */
export function parseLimits(statement: Statement, fields: JsonObject, { origins }: Adaptation): void {
  some({ ...statement, block: null }, 0, 0);
  const limits: JsonObject = origins.mark({}, statement.name);
  for (const line of blockOf(statement)) {
    const { text } = line.name;
    if (!NAMES.includes(text))
      throw failure(line.name, `unrecognized limits option '${text}'${nearestHint(text, NAMES)}`);
    if (limits[text] !== undefined) throw failure(line.name, `${text} already specified`);
    setField(limits, text, integer(one(line), `bad number of ${text}`), line.name, origins);
  }
  setField(fields, 'limits', limits, statement.name, origins);
}
