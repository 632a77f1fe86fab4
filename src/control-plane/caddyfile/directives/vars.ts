import type { Directive, SiteContext, SiteValue } from '../context.ts';
import { type JsonObject, setOwn } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, flag, some, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { handlerDirective, makeRoute, takeMatcherBeforeLast } from './handler.ts';

/** A bare `true` or `false` and numbers keep their type. */
function typed(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text;
}

/** `vars [<matcher>] [<name> <value>] { <name> <value> … }`. */
export const vars: Directive = handlerDirective('vars', (statement) => {
  const lines: Statement[] = [...blockOf(statement)];
  const [name, ...args] = statement.args;
  if (name !== undefined) lines.unshift({ name, args, block: null });
  if (lines.length === 0) throw wrongCount(statement);
  const handler: JsonObject = { handler: 'vars' };
  for (const line of lines) {
    const [value] = some(line, 1, 1);
    if (line.name.text === 'handler') throw failure(line.name, "a variable cannot be named 'handler'");
    setOwn(handler, line.name.text, typed(value?.text ?? ''));
  }
  return [handler];
});

function skipLog(name: string): Directive {
  return handlerDirective(name, (statement) => {
    flag(statement);
    return [{ handler: 'vars', log_skip: true }];
  });
}

/** `log_skip [<matcher>]`, and its old spelling. */
export const logSkip: Directive = skipLog('log_skip');
export const skipLogOld: Directive = skipLog('skip_log');

/** `root [<matcher>] <path>`: a single argument is the path, even when it begins like a matcher. */
export const root: Directive = {
  name: 'root',
  parse(statement: Statement, context: SiteContext): SiteValue[] {
    const { match, rest } = takeMatcherBeforeLast(statement, context);
    const [path] = some(rest, 1, 1);
    const handlers = [{ handler: 'vars', root: path?.text ?? '' }];
    return [{ kind: 'route', directive: 'root', route: makeRoute(statement, match, handlers, context) }];
  },
};
