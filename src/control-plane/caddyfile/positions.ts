import type { ConfigPosition } from '../../shared/config-error.ts';
import type { Origins } from './context.ts';
import type { JsonObject, JsonValue } from './json.ts';

/** Dotted JSON path → where the object or the field at that path was written. */
export function collectPositions(config: JsonObject, origins: Origins): Map<string, ConfigPosition> {
  const positions = new Map<string, ConfigPosition>();
  walk(config, '', origins, positions);
  return positions;
}

/** Recursion is bounded: blocks nest at most as deep as the parser allows. */
function walk(value: JsonValue, path: string, origins: Origins, positions: Map<string, ConfigPosition>): void {
  if (value === null || typeof value !== 'object') return;
  const position = origins.of(value);
  if (position !== undefined) positions.set(path, position);
  const fields = origins.fieldsOf(value);
  for (const [key, inner] of Object.entries(value)) {
    const innerPath = path === '' ? key : `${path}.${key}`;
    const field = fields?.get(key);
    if (field !== undefined) positions.set(innerPath, field);
    walk(inner, innerPath, origins, positions);
  }
}
