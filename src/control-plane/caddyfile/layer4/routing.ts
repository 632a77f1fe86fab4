import type { Adaptation } from '../context.ts';
import type { JsonObject } from '../json.ts';
import type { Statement } from '../syntax/statement.ts';

/** What the routes of one server or subroute refer to. */
export interface Routing {
  readonly adaptation: Adaptation;
  /** Named matchers, by name with its `@`. Those of a subroute are its own. */
  readonly matchers: Map<string, JsonObject>;
  /** Parses a `route` line: handlers contain routes again. */
  readonly parseRoute: (line: Statement, routing: Routing) => JsonObject;
}
