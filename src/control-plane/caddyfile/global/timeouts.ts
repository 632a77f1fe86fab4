import { type Adaptation, setField } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, duration, one, some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { nearestHint } from '../unknown-word.ts';

const FIELDS: Readonly<Record<string, string>> = {
  read_body: 'read_timeout',
  read_body_idle: 'read_idle_timeout',
  read_header: 'read_header_timeout',
  tls_handshake: 'tls_handshake_timeout',
  write: 'write_timeout',
  write_idle: 'write_idle_timeout',
  idle: 'idle_timeout',
};

/** `timeouts { read_body|read_body_idle|read_header|tls_handshake|write|write_idle|idle <duration> }`. */
export function parseTimeouts(statement: Statement, fields: JsonObject, adaptation: Adaptation): void {
  some({ ...statement, block: null }, 0, 0);
  for (const line of blockOf(statement)) {
    const { text } = line.name;
    const field = Object.hasOwn(FIELDS, text) ? FIELDS[text] : undefined;
    if (field === undefined) {
      throw failure(line.name, `unrecognized timeouts option '${text}'${nearestHint(text, Object.keys(FIELDS))}`);
    }
    setField(fields, field, duration(one(line), `parsing ${text} timeout duration`), line.name, adaptation.origins);
  }
}
