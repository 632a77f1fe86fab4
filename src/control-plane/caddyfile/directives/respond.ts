import type { Directive } from '../context.ts';
import { defined, type JsonObject, type JsonValue } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, flag, one, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { handlerDirective } from './handler.ts';

/** `respond [<matcher>] <status>|<body> [<status>] { body <text>; close }`. A single three-digit word is the status. */
export const respond: Directive = handlerDirective('respond', (statement) => {
  const [first, second, surplus] = statement.args;
  if (surplus !== undefined) throw wrongCount(statement);
  const alone = first !== undefined && second === undefined && /^\d{3}$/.test(first.text);
  const status = alone ? first : second;
  const options = readBlock(statement);
  if (!alone && first !== undefined && options.body !== undefined) {
    throw failure(first, 'the response body is given twice: as an argument and in the block');
  }
  const body = alone ? options.body : (first?.text ?? options.body);
  return [
    defined({
      handler: 'static_response',
      body,
      status_code: status === undefined ? undefined : statusOf(status.text),
      close: options.close ? true : undefined,
    }),
  ];
});

/** A number where it is one; otherwise a template. */
export function statusOf(text: string): JsonValue {
  return /^\d+$/.test(text) ? Number(text) : text;
}

function readBlock(statement: Statement): { body: string | undefined; close: boolean } {
  let body: string | undefined;
  let close = false;
  for (const line of blockOf(statement)) {
    if (line.name.text === 'body') {
      if (body !== undefined) throw failure(line.name, 'body already specified');
      body = one(line).text;
    } else if (line.name.text === 'close') {
      flag(line);
      close = true;
    } else {
      throw failure(line.name, `unrecognized subdirective '${line.name.text}'`);
    }
  }
  return { body, close };
}

/** `abort [<matcher>]`: drops the connection without a response. */
export const abort: Directive = handlerDirective('abort', (statement): JsonObject[] => {
  flag(statement);
  return [{ handler: 'static_response', abort: true }];
});
