import { isAuthority } from './authority.ts';
import { CLASS, CR, LF, SP, TARGET, TOKEN } from './chars.ts';
import {
  ERROR_EXPECTATION,
  ERROR_HEAD_TOO_LARGE,
  ERROR_HOST,
  ERROR_HOST_MISSING,
  ERROR_HOST_REPEATED,
  ERROR_LINE_END,
  ERROR_METHOD,
  ERROR_METHOD_UNSUPPORTED,
  ERROR_REQUEST_LINE,
  ERROR_REQUEST_LINE_TOO_LONG,
  ERROR_TARGET,
  faultStatus,
} from './errors.ts';
import { parseFields } from './fields.ts';
import { frameRequest } from './framing.ts';
import { BODY_NONE, FIELD_EXPECT, FIELD_HOST, FIELD_TE, type Head } from './head.ts';
import { type HeadLimits, MAX_METHOD_LENGTH } from './limits.ts';
import { MEMBER_FOUND, MEMBER_OTHER, membersOf } from './lists.ts';
import { readTarget } from './target.ts';
import { readVersion, VERSION_LENGTH } from './version.ts';

/**
 * HOT. Parses a request head. `text` is the latin1 head including the final empty line. Returns 0, or the status to
 * answer before closing: 400, 414, 417, 431, 501 or 505; `head.fault` then says why, and the rest of `head` means
 * nothing.
 */
export function parseRequestHead(text: string, head: Head, limits: HeadLimits): number {
  const fault = parse(text, head, limits);
  head.fault = fault;
  head.text = text.slice(0, -2);
  return fault === 0 ? 0 : faultStatus(fault);
}

function parse(text: string, head: Head, limits: HeadLimits): number {
  // Whole until parsed: a slice is slower to read.
  head.text = text;
  head.authority = '';
  head.status = 0;
  const lineFault = parseRequestLine(text, head, limits.maxRequestLine);
  if (lineFault !== 0) return lineFault;
  if (text.length > limits.maxBytes) return ERROR_HEAD_TOO_LARGE;
  return (
    parseFields(text, head.fieldsStart, head, limits.maxFields) ||
    readTarget(head) ||
    readHost(head) ||
    frameRequest(head) ||
    readExpectations(head)
  );
}

/** RFC 9112 section 3: method SP request-target SP HTTP-version, one space each. */
function parseRequestLine(text: string, head: Head, maxRequestLine: number): number {
  let at = 0;
  while ((CLASS[text.charCodeAt(at)]! & TOKEN) !== 0) at += 1;
  if (text.charCodeAt(at) !== SP || at === 0) return ERROR_METHOD;
  const methodEnd = at;
  at += 1;
  while ((CLASS[text.charCodeAt(at)]! & TARGET) !== 0) at += 1;
  const targetEnd = at;
  if (targetEnd + 1 + VERSION_LENGTH > maxRequestLine) return ERROR_REQUEST_LINE_TOO_LONG;
  if (text.charCodeAt(at) !== SP) return faultOfTargetEnd(text.charCodeAt(at));
  if (methodEnd > MAX_METHOD_LENGTH) return ERROR_METHOD_UNSUPPORTED;
  const versionFault = readVersion(text, targetEnd + 1, head, ERROR_REQUEST_LINE);
  if (versionFault !== 0) return versionFault;
  at = targetEnd + 1 + VERSION_LENGTH;
  if (text.charCodeAt(at) !== CR) return text.charCodeAt(at) === LF ? ERROR_LINE_END : ERROR_REQUEST_LINE;
  if (text.charCodeAt(at + 1) !== LF) return ERROR_LINE_END;
  head.fieldsStart = at + 2;
  head.method = text.slice(0, methodEnd);
  head.target = text.slice(methodEnd + 1, targetEnd);
  return head.method === 'CONNECT' ? ERROR_METHOD_UNSUPPORTED : 0;
}

function faultOfTargetEnd(code: number): number {
  return code === CR || code === LF ? ERROR_REQUEST_LINE : ERROR_TARGET;
}

/** RFC 9112 section 3.2: exactly one Host in HTTP/1.1, valid even where an absolute-form target overrules it. */
function readHost(head: Head): number {
  const field = head.first[FIELD_HOST]!;
  if (field < 0) return head.version >= 11 ? ERROR_HOST_MISSING : 0;
  if ((head.repeated & (1 << FIELD_HOST)) !== 0) return ERROR_HOST_REPEATED;
  const start = head.offsets[field * 4 + 2]!;
  const end = head.offsets[field * 4 + 3]!;
  // An empty value is what a client sends whose target has no authority.
  if (end > start && !isAuthority(head.text, start, end)) return ERROR_HOST;
  if (head.authority === '') head.authority = head.text.slice(start, end);
  return 0;
}

/** Expect (RFC 9110 section 10.1.1, nothing to an HTTP/1.0 sender) and TE (section 10.1.4). */
function readExpectations(head: Head): number {
  head.expectContinue = false;
  head.acceptsTrailers = (membersOf(head, FIELD_TE, 'trailers') & MEMBER_FOUND) !== 0;
  if (head.first[FIELD_EXPECT]! < 0 || head.version < 11) return 0;
  const members = membersOf(head, FIELD_EXPECT, '100-continue');
  if ((members & MEMBER_OTHER) !== 0) return ERROR_EXPECTATION;
  // Without a body there is nothing to wait for.
  head.expectContinue = members !== 0 && head.body !== BODY_NONE;
  return 0;
}
