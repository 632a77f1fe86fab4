/**
 * Which field lines of a received head travel on. Everything that belongs to one connection stays
 * behind (RFC 9110 section 7.6.1), and so does what the proxy writes anew itself.
 */
import {
  FIELD_ALT_SVC,
  FIELD_CONNECTION,
  FIELD_CONTENT_LENGTH,
  FIELD_EXPECT,
  FIELD_HOST,
  FIELD_HTTP2_SETTINGS,
  FIELD_KEEP_ALIVE,
  FIELD_KINDS,
  FIELD_PROXY_AUTHENTICATE,
  FIELD_PROXY_AUTHORIZATION,
  FIELD_PROXY_CONNECTION,
  FIELD_TE,
  FIELD_TRAILER,
  FIELD_TRANSFER_ENCODING,
  FIELD_UPGRADE,
  FIELD_X_FORWARDED_FOR,
  FIELD_X_FORWARDED_HOST,
  FIELD_X_FORWARDED_PROTO,
  VERSION_HTTP2,
  type Head,
} from '../http1/head.ts';

/** One flag a FIELD_* kind: 1 = the line is dropped. */
export type DropSet = Readonly<Uint8Array>;

const HOP_BY_HOP: readonly number[] = [
  FIELD_CONNECTION,
  FIELD_KEEP_ALIVE,
  FIELD_PROXY_CONNECTION,
  FIELD_PROXY_AUTHENTICATE,
  FIELD_PROXY_AUTHORIZATION,
  FIELD_TE,
  FIELD_TRANSFER_ENCODING,
  FIELD_UPGRADE,
  FIELD_ALT_SVC,
  FIELD_HTTP2_SETTINGS,
];

function dropSet(...kinds: readonly number[]): DropSet {
  const set = new Uint8Array(FIELD_KINDS);
  for (const kind of [...HOP_BY_HOP, ...kinds]) set[kind] = 1;
  return set;
}

const FORWARDED: readonly number[] = [FIELD_X_FORWARDED_FOR, FIELD_X_FORWARDED_PROTO, FIELD_X_FORWARDED_HOST];

/** Requests with a fixed or no body. Host is written anew only when the target named another authority. */
export const REQUEST_DROP: DropSet = dropSet(FIELD_TRAILER, ...FORWARDED);
export const REQUEST_DROP_WITH_HOST: DropSet = dropSet(FIELD_TRAILER, FIELD_HOST, ...FORWARDED);
/** Chunked requests: the announcement of trailers travels with them. */
export const CHUNKED_REQUEST_DROP: DropSet = dropSet(FIELD_CONTENT_LENGTH, ...FORWARDED);
export const CHUNKED_REQUEST_DROP_WITH_HOST: DropSet = dropSet(FIELD_CONTENT_LENGTH, FIELD_HOST, ...FORWARDED);

/** Requests whose body the proxy drops: nothing may announce it, nor ask leave to send it. */
export const EMPTIED_REQUEST_DROP: DropSet = dropSet(FIELD_TRAILER, FIELD_CONTENT_LENGTH, FIELD_EXPECT, ...FORWARDED);
export const EMPTIED_REQUEST_DROP_WITH_HOST: DropSet = dropSet(
  FIELD_TRAILER,
  FIELD_CONTENT_LENGTH,
  FIELD_EXPECT,
  FIELD_HOST,
  ...FORWARDED,
);

export const RESPONSE_DROP: DropSet = dropSet(FIELD_TRAILER);
export const CHUNKED_RESPONSE_DROP: DropSet = dropSet(FIELD_CONTENT_LENGTH);
/** 1xx and 204 have no body and no length (RFC 9110 section 8.6). */
export const BODYLESS_RESPONSE_DROP: DropSet = dropSet(FIELD_TRAILER, FIELD_CONTENT_LENGTH);

/** The lines that travel on, as received. Runs of kept lines are cut out of the head in one piece. */
export function keptLines(head: Head, drop: DropSet): string {
  const { text, offsets, kinds, count } = head;
  const named = head.connectionNames.length > 0;
  let lines = '';
  let from = head.fieldsStart;
  for (let field = 0; field < count; field += 1) {
    if (drop[kinds[field]!] === 0 && !(named && isNamed(head, field))) continue;
    const start = offsets[field * 4]!;
    if (start > from) lines += text.slice(from, start);
    from = field + 1 < count ? offsets[(field + 1) * 4]! : text.length;
  }
  return from < text.length ? lines + text.slice(from) : lines;
}

/** The same as alternating names and values, for header operations. */
export function keptFields(head: Head, drop: DropSet): string[] {
  const named = head.connectionNames.length > 0;
  const fields: string[] = [];
  for (let field = 0; field < head.count; field += 1) {
    if (drop[head.kinds[field]!] === 1 || (named && isNamed(head, field))) continue;
    fields.push(head.nameOf(field), head.valueOf(field));
  }
  return fields;
}

/** Value of the Via field that says who passed a message on; `version` is that of the message as it came. */
export function viaOf(version: number): string {
  return version === 11 ? '1.1 holdfast' : version === VERSION_HTTP2 ? '2.0 holdfast' : '1.0 holdfast';
}

export function linesOf(fields: readonly string[]): string {
  let lines = '';
  for (let at = 0; at + 1 < fields.length; at += 2) lines += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return lines;
}

/** `connectionNames` never holds a field that frames or routes. */
function isNamed(head: Head, field: number): boolean {
  return head.connectionNames.includes(head.nameOf(field).toLowerCase());
}
