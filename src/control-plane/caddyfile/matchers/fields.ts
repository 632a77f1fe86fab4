import { canonicalHeaderName } from '../header-name.ts';
import { type JsonObject, type JsonValue, ownList, setOwn } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { some, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { MatcherModule } from './module.ts';

/** `header Field value`, `header !Field`. Values of one field are alternatives. */
export const header: MatcherModule = {
  name: 'header',
  parse(lines: readonly Statement[]): JsonValue {
    const fields: JsonObject = {};
    for (const line of lines) addHeader(fields, line);
    return fields;
  },
};

function addHeader(fields: JsonObject, line: Statement): void {
  const [field, value] = some(line, 1, 2);
  if (field === undefined) throw wrongCount(line);
  if (field.text === '!') {
    throw failure(field, 'malformed header matcher: must have field name following ! character');
  }
  if (field.text.startsWith('!')) {
    if (value !== undefined) {
      throw failure(value, 'malformed header matcher: null matching headers cannot have a field value');
    }
    setOwn(fields, canonicalHeaderName(field.text.slice(1)), null);
    return;
  }
  if (value === undefined) throw failure(field, 'malformed header matcher: expected both field and value');
  append(fields, canonicalHeaderName(field.text), value.text);
}

/** `query key=value …`. Values of one key are alternatives. */
export const query: MatcherModule = {
  name: 'query',
  parse(lines: readonly Statement[]): JsonValue {
    const keys: JsonObject = {};
    for (const token of lines.flatMap((line) => some(line, 1))) {
      const equals = token.text.indexOf('=');
      if (token.text !== '' && equals === -1) {
        throw failure(token, `malformed query matcher token: ${token.text}; must be in param=val format`);
      }
      append(keys, token.text.slice(0, Math.max(equals, 0)), token.text.slice(equals + 1));
    }
    return keys;
  },
};

/** `vars name value…`. */
export const vars: MatcherModule = {
  name: 'vars',
  parse(lines: readonly Statement[]): JsonValue {
    const wanted: JsonObject = {};
    for (const line of lines) {
      const [name, ...values] = some(line, 2);
      for (const value of values) append(wanted, name?.text ?? '', value.text);
    }
    return wanted;
  },
};

function append(target: JsonObject, key: string, value: string): void {
  setOwn(target, key, [...ownList(target, key), value]);
}
