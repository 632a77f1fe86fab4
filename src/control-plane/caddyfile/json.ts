/** JSON under construction. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** The object without its undefined fields. */
export function defined(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const object: JsonObject = {};
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) object[key] = value;
  }
  return object;
}

/** Equal as JSON, whatever the order of keys. */
export function sameJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  return canonical(left) === canonical(right);
}

function canonical(value: JsonValue | undefined): string {
  if (value === undefined) return '';
  return JSON.stringify(value, (_key, inner: JsonValue) => {
    if (inner === null || typeof inner !== 'object' || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
