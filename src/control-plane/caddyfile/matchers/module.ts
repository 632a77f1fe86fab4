import type { JsonValue } from '../json.ts';
import type { Statement } from '../syntax/statement.ts';

/** One kind of request matcher. */
export interface MatcherModule {
  readonly name: string;
  /**
   * Parses all lines of this kind within one set, in order: they are one matcher.
   * `matcherName` is the name of the definition without its `@`, '' where there is none.
   */
  parse(lines: readonly Statement[], matcherName: string): JsonValue;
}
