import { COMMA, SP, spells } from './chars.ts';
import { fieldKind } from './field-kinds.ts';
import {
  FIELD_CONNECTION,
  FIELD_CONTENT_LENGTH,
  FIELD_COOKIE,
  FIELD_HOST,
  FIELD_OTHER,
  FIELD_PROXY_CONNECTION,
  FIELD_SET_COOKIE,
  FIELD_TRANSFER_ENCODING,
  FIELD_VIA,
  FIELD_X_FORWARDED_FOR,
  FIELD_X_FORWARDED_HOST,
  FIELD_X_FORWARDED_PROTO,
  type Head,
} from './head.ts';

/** What the Connection lines of a message say, as bits. */
export const OPTION_CLOSE = 1;
export const OPTION_KEEP_ALIVE = 2;
export const OPTION_UPGRADE = 4;

/** `connectionNames` of most messages. */
export const NO_NAMES: readonly string[] = Object.freeze([]);

/** Hop-by-hop fields that are never forwarded anyway, so naming them says nothing new. */
const STANDARD_NAMES: readonly string[] = Object.freeze([
  'te',
  'trailer',
  'transfer-encoding',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'http2-settings',
]);

/**
 * Fields that frame, route or identify a message. RFC 9110 section 7.6.1 forbids naming fields meant for everybody, and
 * obeying would let a client erase what the next hop relies on.
 */
const PROTECTED_KINDS: number =
  (1 << FIELD_HOST) |
  (1 << FIELD_CONTENT_LENGTH) |
  (1 << FIELD_TRANSFER_ENCODING) |
  (1 << FIELD_X_FORWARDED_FOR) |
  (1 << FIELD_X_FORWARDED_PROTO) |
  (1 << FIELD_X_FORWARDED_HOST) |
  (1 << FIELD_VIA) |
  (1 << FIELD_COOKIE) |
  (1 << FIELD_SET_COOKIE);

/** Every name costs a look at every field line, so a peer must not choose how many there are. */
const MAX_NAMES = 32;

/**
 * Reads all Connection lines: fills `head.connectionNames`, returns OPTION_* bits, or −1 when more than 32 fields are
 * named.
 */
export function readConnection(head: Head): number {
  const names: string[] = [];
  let options = optionsOfKind(head, FIELD_CONNECTION, names);
  if (names.length > MAX_NAMES) return -1;
  head.connectionNames = names.length === 0 ? NO_NAMES : names;
  // Never standardised, but some peers obey it as if it were Connection: not to be counted on, so not to go on after.
  const proxied = optionsOfKind(head, FIELD_PROXY_CONNECTION, []);
  if ((proxied & (OPTION_CLOSE | OPTION_UPGRADE)) !== 0) options |= OPTION_CLOSE;
  return options;
}

function optionsOfKind(head: Head, kind: number, names: string[]): number {
  let options = 0;
  const first = head.first[kind]!;
  if (first < 0) return options;
  for (let field = first; field < head.count; field += 1) {
    if (head.kinds[field] !== kind) continue;
    options |= optionsOfLine(head.text, head.offsets[field * 4 + 2]!, head.offsets[field * 4 + 3]!, names);
    if ((head.repeated & (1 << kind)) === 0) break;
  }
  return options;
}

function optionsOfLine(text: string, start: number, end: number, names: string[]): number {
  let options = 0;
  let at = start;
  while (at < end) {
    while (at < end && (text.charCodeAt(at) === SP || text.charCodeAt(at) === COMMA)) at += 1;
    const memberStart = at;
    while (at < end && text.charCodeAt(at) !== COMMA) at += 1;
    let memberEnd = at;
    while (memberEnd > memberStart && text.charCodeAt(memberEnd - 1) === SP) memberEnd -= 1;
    if (memberEnd === memberStart) continue;
    const option = optionOf(text, memberStart, memberEnd);
    if (option !== 0) options |= option;
    else if (names.length <= MAX_NAMES) addName(text, memberStart, memberEnd, names);
  }
  return options;
}

function optionOf(text: string, start: number, end: number): number {
  if (spells(text, start, end, 'keep-alive')) return OPTION_KEEP_ALIVE;
  if (spells(text, start, end, 'close')) return OPTION_CLOSE;
  return spells(text, start, end, 'upgrade') ? OPTION_UPGRADE : 0;
}

function addName(text: string, start: number, end: number, names: string[]): void {
  const kind = fieldKind(text, start, end);
  if (kind !== FIELD_OTHER && (PROTECTED_KINDS & (1 << kind)) !== 0) return;
  const name = text.slice(start, end).toLowerCase();
  if (!STANDARD_NAMES.includes(name)) names.push(name);
}
