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

/** Sets a field whose name the config chose: even `__proto__` is a field like any other. */
export function setOwn(target: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/** The list in such a field; empty when there is none. */
export function ownList(target: JsonObject, key: string): readonly JsonValue[] {
  const value = Object.hasOwn(target, key) ? target[key] : undefined;
  return Array.isArray(value) ? value : [];
}

/** Equal as JSON, whatever the order of keys. */
export function sameJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  return left === right || canonical(left) === canonical(right);
}

function canonical(value: JsonValue | undefined): string {
  if (value === undefined) return '';
  return JSON.stringify(value, (_key, inner: JsonValue) => {
    if (inner === null || typeof inner !== 'object' || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
