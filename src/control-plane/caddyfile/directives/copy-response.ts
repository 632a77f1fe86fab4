import type { Directive } from '../context.ts';
import { canonicalHeaderName } from '../header-name.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, one, some, texts, wrongCount } from '../syntax/read.ts';
import { handlerDirective } from './handler.ts';
import { statusOf } from './respond.ts';

/** `copy_response [<matcher>] [<status>] { status <status> }`, inside `handle_response`. */
export const copyResponse: Directive = handlerDirective('copy_response', (statement) => {
  const [status, surplus] = statement.args;
  if (surplus !== undefined) throw wrongCount(statement);
  const handler: JsonObject = { handler: 'copy_response' };
  if (status !== undefined) handler['status_code'] = statusOf(status.text);
  for (const line of blockOf(statement)) {
    if (line.name.text !== 'status') throw failure(line.name, `unrecognized subdirective '${line.name.text}'`);
    handler['status_code'] = statusOf(one(line).text);
  }
  return [handler];
});

/** `copy_response_headers [<matcher>] { include <field>… | exclude <field>… }`. */
export const copyResponseHeaders: Directive = handlerDirective('copy_response_headers', (statement) => {
  if (statement.args.length > 0) throw wrongCount(statement);
  const handler: JsonObject = { handler: 'copy_response_headers' };
  for (const line of blockOf(statement)) {
    const { text } = line.name;
    if (text !== 'include' && text !== 'exclude') throw failure(line.name, `unrecognized subdirective '${text}'`);
    const known = handler[text];
    const fields = texts(some(line, 1)).map(canonicalHeaderName);
    handler[text] = [...(Array.isArray(known) ? known : []), ...fields];
  }
  if (handler['include'] !== undefined && handler['exclude'] !== undefined) {
    throw failure(statement.name, 'include and exclude cannot be used together: write one of them');
  }
  return [handler];
});
