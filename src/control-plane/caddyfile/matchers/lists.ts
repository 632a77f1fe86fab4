import type { JsonValue } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { one, some, texts } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { MatcherModule } from './module.ts';

function valuesOf(lines: readonly Statement[]): string[] {
  return lines.flatMap((line) => texts(some(line, 1)));
}

export const path: MatcherModule = { name: 'path', parse: valuesOf };
export const host: MatcherModule = { name: 'host', parse: valuesOf };
export const method: MatcherModule = { name: 'method', parse: valuesOf };

export const protocol: MatcherModule = {
  name: 'protocol',
  parse(lines: readonly Statement[]): JsonValue {
    const [line, second] = lines;
    if (second !== undefined) throw failure(second.name, 'the protocol matcher is written once');
    return line === undefined ? '' : one(line).text;
  },
};
