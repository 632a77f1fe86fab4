import type { SiteContext } from '../context.ts';
import { type JsonObject, setOwn } from '../json.ts';
import { expandInStatements } from '../routing/placeholders.ts';
import { buildSubroute, handlersOf } from '../routing/subroute.ts';
import { parseBlock } from '../routing/segment.ts';
import { failure, within } from '../syntax/failure.ts';
import type { Document } from '../syntax/parser.ts';
import type { Token } from '../syntax/token.ts';

interface NamedRoute {
  readonly route: JsonObject;
  /** Other named routes it invokes. */
  readonly invoked: ReadonlyMap<string, Token>;
}

/** The named routes of a file, and which sites reach which of them. */
export class NamedRoutes {
  readonly #routes: ReadonlyMap<string, NamedRoute>;
  readonly #bySite = new Map<Token, ReadonlyMap<string, Token>>();

  constructor(document: Document, base: Omit<SiteContext, 'invoked'>) {
    const routes = [...document.namedRoutes].map(([title, { name, body }]): [string, NamedRoute] => {
      const context: SiteContext = { ...base, invoked: new Map() };
      const values = within(name.text, () => parseBlock(expandInStatements(body), context));
      const route = base.adaptation.origins.mark(simplify(buildSubroute(values, base.adaptation, true)), name);
      return [title, { route, invoked: context.invoked }];
    });
    this.#routes = new Map(routes);
  }

  /** Notes what a site, known by its first address, invokes. */
  noteSite(site: Token, invoked: ReadonlyMap<string, Token>): void {
    this.#bySite.set(site, invoked);
  }

  /** `named_routes` of a server with these sites; null when they invoke none. Throws for a name nobody defined. */
  usedBy(sites: readonly Token[]): JsonObject | null {
    const reached: JsonObject = {};
    const waiting = sites.flatMap((site) => [...(this.#bySite.get(site) ?? [])]);
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [title, token] = next;
      const found = this.#routes.get(title);
      if (found === undefined) throw failure(token, `cannot invoke named route '${title}', which was not defined`);
      if (Object.hasOwn(reached, title)) continue;
      setOwn(reached, title, found.route);
      for (const further of found.invoked) waiting.push(further);
    }
    return Object.keys(reached).length > 0 ? reached : null;
  }
}

/** A single route without a matcher needs no subroute around it. */
function simplify(subroute: JsonObject): JsonObject {
  const routes = Array.isArray(subroute['routes']) ? (subroute['routes'] as JsonObject[]) : [];
  const [only, second] = routes;
  const isPlain = only !== undefined && second === undefined && only['match'] === undefined;
  return { handle: isPlain && only['group'] === undefined ? handlersOf(only) : [subroute] };
}
