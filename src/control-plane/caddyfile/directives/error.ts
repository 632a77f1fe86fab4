import type { Directive } from '../context.ts';
import { defined } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, one, wrongCount } from '../syntax/read.ts';
import { handlerDirective } from './handler.ts';
import { statusOf } from './respond.ts';

/** `error [<matcher>] <status>|<message> [<status>] { message <text> }`. */
export const error: Directive = handlerDirective('error', (statement) => {
  const [first, second, surplus] = statement.args;
  if (first === undefined || surplus !== undefined) throw wrongCount(statement);
  const alone = second === undefined && /^\d{3}$/.test(first.text);
  let message = alone ? undefined : first.text;
  for (const line of blockOf(statement)) {
    if (line.name.text !== 'message') throw failure(line.name, `unrecognized subdirective '${line.name.text}'`);
    if (message !== undefined) throw failure(line.name, 'message already specified');
    message = one(line).text;
  }
  const status = alone ? first : second;
  return [
    defined({
      handler: 'error',
      error: message,
      status_code: status === undefined ? undefined : statusOf(status.text),
    }),
  ];
});
