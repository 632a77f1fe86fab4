import type { Directive } from '../context.ts';
import { addHeaderOp, headerNameOf, headerOpsJson, newHeaderOps } from '../header-ops.ts';
import { canonicalHeaderName } from '../header-name.ts';
import type { JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, flag, some, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { handlerDirective } from './handler.ts';
import { parseResponseMatcher } from './response-matcher.ts';

/**
 * `header [<matcher>] [+|-|?|>]<field> [<value>|<search> <replacement>]`, or the same in a block with `defer` and
 * `match`. Deletions and `>` wait for the response head; `?` sets what is missing.
 */
export const header: Directive = handlerDirective('header', (statement) => {
  const [name, ...args] = statement.args;
  const ops = newHeaderOps();
  const defaults: JsonObject[] = [];
  let deferred = false;
  let require: JsonObject | null = null;
  const lines = [...blockOf(statement)];
  if (name !== undefined && statement.block !== null) {
    throw failure(name, 'cannot specify headers in both arguments and block');
  }
  if (name !== undefined) lines.push({ name, args, block: null });
  if (lines.length === 0 && statement.block === null) throw wrongCount(statement);
  for (const line of lines) {
    const field = line.name.text;
    if (statement.block !== null && field === 'defer') {
      flag(line);
      deferred = true;
    } else if (statement.block !== null && field === 'match') {
      require = parseResponseMatcher(line);
    } else if (field.startsWith('?')) {
      defaults.push(defaultHeader(line));
    } else {
      deferred = deferred || /^[->]/.test(field);
      const [value, replacement] = some(line, 0, 2);
      addHeaderOp(ops, line.name, value, replacement);
    }
  }
  const json = headerOpsJson(ops);
  if (json === null) return defaults;
  if (deferred) json['deferred'] = true;
  if (require !== null) json['require'] = require;
  return [{ handler: 'headers', response: json }, ...defaults];
});

function defaultHeader(line: Statement): JsonObject {
  const [value] = some(line, 1, 1);
  const name = canonicalHeaderName(headerNameOf(line.name));
  return {
    handler: 'headers',
    response: { require: { headers: { [name]: null } }, set: { [name]: [value?.text ?? ''] } },
  };
}

/** `request_header [<matcher>] [+|-]<field> [<value>|<search> <replacement>]`. */
export const requestHeader: Directive = handlerDirective('request_header', (statement) => {
  const ops = newHeaderOps();
  const [name, ...args] = statement.args;
  if (name === undefined) throw wrongCount(statement);
  const [value, replacement] = some({ ...statement, args }, 0, 2);
  if (name.text.startsWith('?')) throw failure(name, `the ? modifier is for response headers only: ${name.text}`);
  addHeaderOp(ops, name, value, replacement);
  const json = headerOpsJson(ops);
  return json === null ? [] : [{ handler: 'headers', request: json }];
});
