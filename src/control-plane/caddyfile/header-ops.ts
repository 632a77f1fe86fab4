import { canonicalHeaderName } from './header-name.ts';
import { type JsonObject, ownList, setOwn } from './json.ts';
import { failure } from './syntax/failure.ts';
import type { Token } from './syntax/token.ts';

/** Collects `+F v`, `-F`, `F v`, `F search replacement` into Caddy's header operations. */
export interface HeaderOps {
  readonly add: JsonObject;
  readonly set: JsonObject;
  readonly delete: string[];
  readonly replace: JsonObject;
}

export function newHeaderOps(): HeaderOps {
  return { add: {}, set: {}, delete: [], replace: {} };
}

/** One operation: `field` with its sign, and what follows it. */
export function addHeaderOp(ops: HeaderOps, field: Token, value: Token | undefined, replacement?: Token): void {
  const sign = /^[+-]/.test(field.text) ? field.text.slice(0, 1) : '';
  const name = headerNameOf(field);
  if (sign === '-') {
    if (value !== undefined) throw failure(value, `'${field.text}' deletes a field and takes no value`);
    ops.delete.push(name);
  } else if (replacement !== undefined) {
    if (sign === '+') throw failure(replacement, `'${field.text}' adds a field and takes one value`);
    setOwn(ops.replace, name, [{ search_regexp: value?.text ?? '', replace: replacement.text }]);
  } else if (value === undefined) {
    throw failure(field, `the header field ${name} has no value: write '-${name}' to delete it, "" to empty it`);
  } else if (sign === '+') {
    const key = canonicalHeaderName(name);
    setOwn(ops.add, key, [...ownList(ops.add, key), value.text]);
  } else {
    setOwn(ops.set, canonicalHeaderName(name), [value.text]);
  }
}

/** The name without its sign and without the colon some people write behind it. */
export function headerNameOf(field: Token): string {
  const name = field.text.replace(/^[+?>-]+/, '').replace(/:$/, '');
  if (name === '') throw failure(field, `'${field.text}' names no header field`);
  return name;
}

/** The operations that are there; null when there are none. */
export function headerOpsJson(ops: HeaderOps): JsonObject | null {
  const json: JsonObject = {};
  if (Object.keys(ops.add).length > 0) json['add'] = ops.add;
  if (Object.keys(ops.set).length > 0) json['set'] = ops.set;
  if (ops.delete.length > 0) json['delete'] = ops.delete;
  if (Object.keys(ops.replace).length > 0) json['replace'] = ops.replace;
  return Object.keys(json).length > 0 ? json : null;
}
