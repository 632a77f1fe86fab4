import type { JsonValue } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { MatcherModule } from './module.ts';

/**
 * A CEL expression. Several words are taken as they stand in the file, quotes included; a single quoted one is
 * the expression, and then it carries the name of its matcher.
 */
export const expression: MatcherModule = {
  name: 'expression',
  parse(lines: readonly Statement[], matcherName: string): JsonValue {
    const [line, second] = lines;
    if (second !== undefined) throw failure(second.name, 'the expression matcher is written once in a set');
    const args = line === undefined ? [] : some(line, 1);
    if (args.length > 1) return args.map((token) => token.raw).join(' ');
    const expr = args[0]?.text ?? '';
    return matcherName === '' ? expr : { expr, name: matcherName };
  },
};
