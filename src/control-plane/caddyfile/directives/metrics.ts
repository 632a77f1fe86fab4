import type { Directive } from '../context.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, flag, wrongCount } from '../syntax/read.ts';
import { handlerDirective } from './handler.ts';

/** `metrics [<matcher>] { disable_openmetrics }`. */
export const metrics: Directive = handlerDirective('metrics', (statement) => {
  if (statement.args.length > 0) throw wrongCount(statement);
  const handler: JsonObject = { handler: 'metrics' };
  for (const line of blockOf(statement)) {
    if (line.name.text !== 'disable_openmetrics') {
      throw failure(line.name, `unrecognized subdirective: '${line.name.text}'`);
    }
    flag(line);
    handler['disable_openmetrics'] = true;
  }
  return [handler];
});
