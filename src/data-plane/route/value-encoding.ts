/**
 * What is done to a value before it is put into its surroundings, so that no peer's bytes can leave the place they
 * were given. Values are bytes, one latin1 character each.
 */
import { percentEncode } from './bytes.ts';

/**
 * - `text`: nothing (bodies, variables, comparisons)
 * - `field`: field values; control characters except the tab become `%XX`, so `%0d%0a` in a query stays harmless
 * - `target`: path, or path and query; what may not stand in a target becomes `%XX`, escapes stay as they are
 * - `markup`: HTML text or a quoted attribute; `& < > " '` become character references
 * - `component`: one key or value of a query; everything but unreserved characters becomes `%XX`
 */
export type ValueEncoding = 'text' | 'markup' | 'field' | 'target' | 'component';

/** RFC 9110 section 5.5: everything a field value may not hold. */
// oxlint-disable-next-line no-control-regex
const NOT_IN_FIELD = /[\u0000-\u0008\u000a-\u001f\u007f]/g;
/** Controls, space, `#` (it would begin a fragment) and everything beyond ASCII. */
// oxlint-disable-next-line no-control-regex
const NOT_IN_TARGET = /[\u0000-\u0020#\u007f-\u00ff]/g;
/** RFC 3986 section 2.3. */
const NOT_UNRESERVED = /[^A-Za-z0-9\-._~]/g;

function encodeField(value: string): string {
  return value.replace(NOT_IN_FIELD, percentEncode);
}

function encodeTarget(value: string): string {
  return value.replace(NOT_IN_TARGET, percentEncode);
}

export function encodeComponent(value: string): string {
  return value.replace(NOT_UNRESERVED, percentEncode);
}

function encodeMarkup(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Bytes that were decoded, as part of a path again: what would be read as an escape or as the query is escaped. */
export function encodePathPart(value: string): string {
  return encodeTarget(value.replace(/[%?]/g, percentEncode));
}

function asItIs(value: string): string {
  return value;
}

export const ENCODERS: Readonly<Record<ValueEncoding, (value: string) => string>> = Object.freeze({
  text: asItIs,
  markup: encodeMarkup,
  field: encodeField,
  target: encodeTarget,
  component: encodeComponent,
});
