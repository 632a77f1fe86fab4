/**
 * Where a message ends and whether another may follow: RFC 9112 sections 6 and 9.3. Nothing else in the project decides
 * this. Every leeway the RFC grants for messages that two parsers could read differently is declined.
 */
import { CLASS, COMMA, DIGIT, HTAB, SP, spells, TOKEN, CR } from './chars.ts';
import { NO_NAMES, OPTION_CLOSE, OPTION_KEEP_ALIVE, OPTION_UPGRADE, readConnection } from './connection.ts';
import {
  ERROR_CONNECTION_NAMES,
  ERROR_CONTENT_LENGTH,
  ERROR_CONTENT_LENGTH_REPEATED,
  ERROR_FRAMING_TAB,
  ERROR_LENGTH_AND_CODING,
  ERROR_TRANSFER_CODING,
  ERROR_TRANSFER_CODING_UNSUPPORTED,
  ERROR_TRANSFER_CODING_VERSION,
} from './errors.ts';
import {
  BODY_CHUNKED,
  BODY_CLOSE,
  BODY_LENGTH,
  BODY_NONE,
  FIELD_CONNECTION,
  FIELD_CONTENT_LENGTH,
  FIELD_PROXY_CONNECTION,
  FIELD_TRANSFER_ENCODING,
  FIELD_UPGRADE,
  type Head,
} from './head.ts';
import { MAX_LENGTH_DIGITS } from './limits.ts';

/** Sets body, contentLength, keepAlive and upgrade of a request. Returns 0 or an ERROR_* code. */
export function frameRequest(head: Head): number {
  return readBody(head) || readPersistence(head);
}

/**
 * The same for a response to `requestMethod`. `Content-Length: 0` is BODY_LENGTH with 0. A 204 or 1xx that announces a
 * body has none (section 6.3 rule 1), but what its sender will write next is anybody's guess: it closes.
 */
export function frameResponse(head: Head, requestMethod: string): number {
  const fault = readBody(head) || readPersistence(head);
  if (fault !== 0) return fault;
  const { status } = head;
  // RFC 9110 section 15.2.2: only 101 switches; an Upgrade field elsewhere is an offer. Behind it comes no HTTP/1.
  if (status === 101) head.keepAlive = false;
  else head.upgrade = false;
  if (status < 200 || status === 204) {
    if (head.body === BODY_CHUNKED || head.contentLength > 0) head.keepAlive = false;
    head.body = BODY_NONE;
    head.contentLength = -1;
  } else if (status === 304 || requestMethod === 'HEAD') {
    head.body = BODY_NONE;
  } else if (head.body === BODY_NONE) {
    // Section 6.3 rule 8.
    head.body = BODY_CLOSE;
    head.keepAlive = false;
  }
  return 0;
}

/** What the framing fields alone say; BODY_NONE when there are none (section 6.3 rules 3 to 6). */
function readBody(head: Head): number {
  head.body = BODY_NONE;
  head.contentLength = -1;
  const length = head.first[FIELD_CONTENT_LENGTH]!;
  const coding = head.first[FIELD_TRANSFER_ENCODING]!;
  if (length >= 0) return coding >= 0 ? ERROR_LENGTH_AND_CODING : readLength(head, length);
  return coding >= 0 ? readCoding(head, coding) : 0;
}

/** Section 6.2; lists and repetitions are refused even when all values agree (section 6.3 rule 5 leaves that open). */
function readLength(head: Head, field: number): number {
  if ((head.repeated & (1 << FIELD_CONTENT_LENGTH)) !== 0) return ERROR_CONTENT_LENGTH_REPEATED;
  if (hasTab(head, field)) return ERROR_FRAMING_TAB;
  const { text } = head;
  const start = head.offsets[field * 4 + 2]!;
  const end = head.offsets[field * 4 + 3]!;
  if (end === start || end - start > MAX_LENGTH_DIGITS) return ERROR_CONTENT_LENGTH;
  let length = 0;
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if ((CLASS[code]! & DIGIT) === 0) return ERROR_CONTENT_LENGTH;
    length = length * 10 + (code - 0x30);
  }
  head.contentLength = length;
  head.body = BODY_LENGTH;
  return 0;
}

/** Section 6.1. Only `chunked`, once: of anything else there are as many readings as parsers. */
function readCoding(head: Head, field: number): number {
  // "MUST treat the message as if the framing is faulty": a 1.0 hop in between may have seen another end.
  if (head.version < 11) return ERROR_TRANSFER_CODING_VERSION;
  if ((head.repeated & (1 << FIELD_TRANSFER_ENCODING)) !== 0) return ERROR_TRANSFER_CODING;
  if (hasTab(head, field)) return ERROR_FRAMING_TAB;
  const start = head.offsets[field * 4 + 2]!;
  const end = head.offsets[field * 4 + 3]!;
  if (!spells(head.text, start, end, 'chunked')) return faultOfCoding(head.text, start, end);
  head.body = BODY_CHUNKED;
  return 0;
}

/** 501 when one unknown coding stands before a final `chunked` (the end is known, the content is not); else 400. */
function faultOfCoding(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && (CLASS[text.charCodeAt(at)]! & TOKEN) !== 0) at += 1;
  if (at === start || spells(text, start, at, 'chunked')) return ERROR_TRANSFER_CODING;
  while (at < end && text.charCodeAt(at) === SP) at += 1;
  if (text.charCodeAt(at) !== COMMA) return ERROR_TRANSFER_CODING;
  at += 1;
  while (at < end && text.charCodeAt(at) === SP) at += 1;
  return spells(text, at, end, 'chunked') ? ERROR_TRANSFER_CODING_UNSUPPORTED : ERROR_TRANSFER_CODING;
}

/**
 * Section 9.3, and RFC 9110 section 7.8: Upgrade from an HTTP/1.0 peer is ignored, and since other parsers would switch
 * there, nothing may follow.
 */
function readPersistence(head: Head): number {
  const current = head.version >= 11;
  head.keepAlive = current;
  head.upgrade = false;
  if (head.first[FIELD_CONNECTION]! < 0 && head.first[FIELD_PROXY_CONNECTION]! < 0) {
    head.connectionNames = NO_NAMES;
    return 0;
  }
  if (hasTabInAny(head, FIELD_CONNECTION) || hasTabInAny(head, FIELD_PROXY_CONNECTION)) return ERROR_FRAMING_TAB;
  const options = readConnection(head);
  if (options < 0) return ERROR_CONNECTION_NAMES;
  const switches = (options & OPTION_UPGRADE) !== 0 && head.known(FIELD_UPGRADE) !== '';
  head.upgrade = current && switches;
  head.keepAlive = (options & OPTION_CLOSE) === 0 && (current || ((options & OPTION_KEEP_ALIVE) !== 0 && !switches));
  return 0;
}

function hasTabInAny(head: Head, kind: number): boolean {
  const first = head.first[kind]!;
  if (first < 0) return false;
  for (let field = first; field < head.count; field += 1) {
    if (head.kinds[field] === kind && hasTab(head, field)) return true;
  }
  return false;
}

/** A tab is optional white space to the RFC and part of the value to some parsers: in these fields that is too much. */
function hasTab(head: Head, field: number): boolean {
  const { text } = head;
  for (let at = head.offsets[field * 4 + 1]!; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code === HTAB) return true;
    if (code === CR) return false;
  }
}
