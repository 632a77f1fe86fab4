import type { Directive } from '../context.ts';
import { one } from '../syntax/read.ts';
import { handlerDirective } from './handler.ts';

/** `invoke [<matcher>] <named route>`. */
export const invoke: Directive = handlerDirective('invoke', (statement, context) => {
  const name = one(statement);
  if (!context.invoked.has(name.text)) context.invoked.set(name.text, name);
  return [{ handler: 'invoke', name: name.text }];
});
