import type { Directive } from '../context.ts';
import { defined, type JsonObject, type JsonValue } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, texts, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { Token } from '../syntax/token.ts';
import { handlerDirective } from './handler.ts';

/**
 * `map [<matcher>] <source> <destination…> { [~]<input> <output…> | default <output…> }`; `-` leaves an output
 * empty.
 */
export const map: Directive = handlerDirective('map', (statement) => {
  const [source, ...destinations] = statement.args;
  if (source === undefined || destinations.length === 0) throw wrongCount(statement);
  const mappings: JsonObject[] = [];
  let defaults: JsonValue[] | undefined;
  for (const line of blockOf(statement)) {
    if (line.name.text !== 'default') {
      mappings.push(readMapping(line, destinations.length));
      continue;
    }
    if (defaults !== undefined) throw failure(line.name, 'defaults already defined');
    if (line.args.length !== destinations.length) throw countFault(line.name, destinations.length, line.args.length);
    defaults = texts(line.args);
  }
  return [
    defined({
      handler: 'map',
      source: source.text,
      destinations: texts(destinations),
      mappings: mappings.length > 0 ? mappings : undefined,
      defaults,
    }),
  ];
});

function readMapping(line: Statement, width: number): JsonObject {
  if (line.args.length !== width) throw countFault(line.name, width, line.args.length);
  const input = line.name.text;
  const outputs = line.args.map((token) => (token.quote === '' && token.text === '-' ? null : token.text));
  return input.startsWith('~') ? { input_regexp: input.slice(1), outputs } : { input, outputs };
}

function countFault(token: Token, wanted: number, found: number): Error {
  return failure(token, `'${token.text}' gives ${found} outputs for ${wanted} destinations`);
}
