import type { SiteContext } from '../../context.ts';
import type { HeaderOps } from '../../header-ops.ts';
import { type JsonObject, type JsonValue } from '../../json.ts';
import { setField } from '../../context.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { Token } from '../../syntax/token.ts';

/** A `reverse_proxy` handler under construction. */
export interface ProxyDraft {
  readonly context: SiteContext;
  readonly upstreams: JsonObject[];
  /** Scheme that an upstream was written with, '' so far. */
  scheme: '' | 'http' | 'https' | 'h2c';
  /** Where the first upstream with that scheme stands. */
  schemeToken: Token | null;
  readonly loadBalancing: JsonObject;
  readonly active: JsonObject;
  readonly passive: JsonObject;
  /** `health <probe>`; null = not written. */
  probe: JsonObject | null;
  readonly headersUp: HeaderOps;
  readonly headersDown: HeaderOps;
  readonly rewrite: JsonObject;
  /** Fields of the handler itself. */
  readonly fields: JsonObject;
  transport: JsonObject | null;
  /** Named response matchers, by name with their `@`. */
  readonly responseMatchers: Map<string, JsonObject>;
  /** Entries of `handle_response`: statuses to replace come first. */
  readonly replacements: JsonObject[];
  readonly responses: JsonObject[];
}

export type Subdirective = (line: Statement, draft: ProxyDraft) => void;
export type SubdirectiveTable = Readonly<Record<string, Subdirective>>;

/** Sets a field of one of the draft's objects and notes the line it comes from. */
export function put(draft: ProxyDraft, target: JsonObject, key: string, value: JsonValue, line: Statement): void {
  const { origins } = draft.context.adaptation;
  origins.mark(target, line.name);
  setField(target, key, value, line.name, origins);
}
