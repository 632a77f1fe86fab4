/** `map`: placeholders of the config's own, worked out when they are read. */
import { ConfigError } from '../../shared/config-error.ts';
import type { HandlerPlan, MapPlan, MappingPlan, RoutePlan } from '../../shared/plan/types.ts';
import { toBytes } from './bytes.ts';
import { notesOf, type MappedNames } from './notes.ts';
import { findPlaceholder } from './placeholder/find.ts';
import { NO_FACTS, type ProcessFacts } from './placeholder/placeholder.ts';
import { compileRegexp, compileReplacement, expandFirst } from './regexp.ts';
import type { RequestView } from './request-view.ts';
import { compileTemplate, type Template } from './template.ts';

/** The output for `input` (bytes); null when it does not fit. */
type Mapping = (input: string, request: RequestView) => string | null;

/**
 * From this handler on the destinations have values. As in Caddy they follow the request: a source that a later handler
 * changes counts as it is when the destination is read. Throws `ConfigError` for names and expressions that cannot be.
 */
export function compileMap(plan: MapPlan, facts: ProcessFacts): (request: RequestView) => void {
  for (const name of plan.destinations) refuseTaken(name);
  const source = compileTemplate(plan.source, 'all', { encoding: 'text', facts });
  const columns = new Map(
    plan.destinations.map((name, place) => [
      name,
      {
        mappings: plan.mappings.flatMap((mapping) => compileMapping(mapping, place, facts)),
        fallback: defaultOf(plan, place, facts),
      },
    ]),
  );
  const map: MappedNames = {
    read(name, request) {
      const column = columns.get(name);
      if (column === undefined) return null;
      const input = source.render(request);
      for (const mapping of column.mappings) {
        const output = mapping(input, request);
        if (output !== null) return output;
      }
      return column.fallback === null ? null : column.fallback.render(request);
    },
  };
  return (request) => notesOf(request).addMap(map);
}

/** Every name that a `map` handler in `plans` gives a value to. */
export function mappedNames(plans: readonly RoutePlan[], names: Set<string> = new Set()): Set<string> {
  for (const { handle } of plans) for (const handler of handle) addNames(handler, names);
  return names;
}

function addNames(plan: HandlerPlan, names: Set<string>): void {
  if (plan.handler === 'subroute') mappedNames(plan.routes, names);
  if (plan.handler === 'reverse_proxy') for (const { routes } of plan.handleResponse) mappedNames(routes, names);
  if (plan.handler === 'map') for (const name of plan.destinations) names.add(name);
}

/** A name of our own would never be looked up in a map. */
function refuseTaken(name: string): void {
  if (findPlaceholder(name, NO_FACTS) === null) return;
  throw new ConfigError(`{${name}} has a meaning already and cannot be a destination of map; choose another name`);
}

function compileMapping(plan: MappingPlan, place: number, facts: ProcessFacts): Mapping[] {
  const text = plan.outputs[place] ?? null;
  if (text === null) return [];
  if (plan.inputRegexp !== '') {
    const regexp = compileRegexp(plan.inputRegexp);
    const replacement = compileReplacement(text, facts, 'text');
    return [(input, request) => expandFirst(regexp, input, replacement, request)];
  }
  const wanted = toBytes(plan.input);
  const output = compileTemplate(text, 'all', { encoding: 'text', facts });
  return [(input, request) => (input === wanted ? output.render(request) : null)];
}

function defaultOf(plan: MapPlan, place: number, facts: ProcessFacts): Template | null {
  const text = plan.defaults[place];
  return text === undefined ? null : compileTemplate(text, 'all', { encoding: 'text', facts });
}
