import { canonicalHeaderName } from '../header-name.ts';
import { type JsonObject, ownList, setOwn } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, some, statusOrClass } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';

/** `<opener> status <code|Nxx>…`, `<opener> header <F> [<value>]`, or a block of such lines. */
export function parseResponseMatcher(statement: Statement): JsonObject {
  const [kind, ...args] = statement.args;
  const lines = kind === undefined ? blockOf(statement) : [{ name: kind, args, block: statement.block }];
  if (lines.length === 0) throw failure(statement.name, `'${statement.name.text}' names no response matcher`);
  const status: number[] = [];
  const headers: JsonObject = {};
  for (const line of lines) {
    if (line.name.text === 'status') for (const token of some(line, 1)) status.push(statusOrClass(token));
    else if (line.name.text === 'header') addHeader(headers, line);
    else throw failure(line.name, `unrecognized response matcher ${line.name.text}`);
  }
  const matcher: JsonObject = {};
  if (status.length > 0) matcher['status_code'] = status;
  if (Object.keys(headers).length > 0) matcher['headers'] = headers;
  return matcher;
}

function addHeader(headers: JsonObject, line: Statement): void {
  const [field, value] = some(line, 1, 2);
  const name = field?.text ?? '';
  if (name.startsWith('!')) {
    if (value !== undefined) throw failure(value, 'a header that must be absent cannot have a value');
    setOwn(headers, canonicalHeaderName(name.slice(1)), null);
    return;
  }
  const key = canonicalHeaderName(name);
  setOwn(headers, key, [...ownList(headers, key), ...(value === undefined ? [] : [value.text])]);
}
