import { CLASS, CR, DIGIT, LF, SP, VALUE, ZERO } from './chars.ts';
import { ERROR_HEAD_TOO_LARGE, ERROR_LINE_END, ERROR_STATUS_LINE } from './errors.ts';
import { parseFields } from './fields.ts';
import { frameResponse } from './framing.ts';
import type { Head } from './head.ts';
import type { HeadLimits } from './limits.ts';
import { readVersion, VERSION_LENGTH } from './version.ts';

const MIN_STATUS = 100;

/**
 * HOT. Parses a response head. `text` is the latin1 head including the final empty line; `requestMethod` decides
 * whether a body follows. Returns 0, or the ERROR_* code that says why the response is refused (also in `head.fault`);
 * then the rest of `head` means nothing.
 */
export function parseResponseHead(text: string, head: Head, requestMethod: string, limits: HeadLimits): number {
  // Whole until parsed: a slice is slower to read.
  head.text = text;
  head.method = '';
  head.target = '';
  head.authority = '';
  head.originForm = '';
  head.expectContinue = false;
  head.acceptsTrailers = false;
  const fault =
    text.length > limits.maxBytes
      ? ERROR_HEAD_TOO_LARGE
      : parseStatusLine(text, head) ||
        parseFields(text, head.fieldsStart, head, limits.maxFields) ||
        frameResponse(head, requestMethod);
  head.fault = fault;
  head.text = text.slice(0, -2);
  return fault;
}

/** RFC 9112 section 4: HTTP-version SP status-code SP reason-phrase. Many servers drop the SP with the reason. */
function parseStatusLine(text: string, head: Head): number {
  const versionFault = readVersion(text, 0, head, ERROR_STATUS_LINE);
  if (versionFault !== 0) return versionFault;
  if (text.charCodeAt(VERSION_LENGTH) !== SP) return ERROR_STATUS_LINE;
  let at = VERSION_LENGTH + 1;
  let status = 0;
  for (let digits = 0; digits < 3; digits += 1) {
    const code = text.charCodeAt(at);
    if ((CLASS[code]! & DIGIT) === 0) return ERROR_STATUS_LINE;
    status = status * 10 + (code - ZERO);
    at += 1;
  }
  if (status < MIN_STATUS) return ERROR_STATUS_LINE;
  head.status = status;
  if (text.charCodeAt(at) === SP) at += 1;
  else if (text.charCodeAt(at) !== CR) return ERROR_STATUS_LINE;
  head.reasonStart = at;
  while ((CLASS[text.charCodeAt(at)]! & VALUE) !== 0) at += 1;
  head.reasonEnd = at;
  if (text.charCodeAt(at) !== CR) return text.charCodeAt(at) === LF ? ERROR_LINE_END : ERROR_STATUS_LINE;
  if (text.charCodeAt(at + 1) !== LF) return ERROR_LINE_END;
  head.fieldsStart = at + 2;
  return 0;
}
