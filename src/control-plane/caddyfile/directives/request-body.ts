import type { Directive } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, byteSize, duration, one, wrongCount } from '../syntax/read.ts';
import { handlerDirective } from './handler.ts';

/** `request_body [<matcher>] { max_size <size>; read_timeout <duration>; write_timeout <duration>; set <text> }`. */
export const requestBody: Directive = handlerDirective('request_body', (statement) => {
  if (statement.args.length > 0) throw wrongCount(statement);
  const handler: JsonObject = { handler: 'request_body' };
  for (const line of blockOf(statement)) {
    const value = one(line);
    const name = line.name.text;
    if (name === 'max_size') handler['max_size'] = byteSize(value);
    else if (name === 'read_timeout' || name === 'write_timeout') handler[name] = duration(value);
    else if (name === 'set') handler['set'] = value.text;
    else throw failure(line.name, `unrecognized request_body subdirective '${name}'`);
  }
  return [handler];
});
