/** Where the head of a request ends in what a client has sent so far, before anything in it is read. */
import { CLASS, CR, SP, TOKEN } from './chars.ts';
import { ERROR_HEAD_TOO_LARGE, ERROR_LINE_END, ERROR_METHOD, ERROR_REQUEST_LINE_TOO_LONG } from './errors.ts';
import type { HeadLimits } from './limits.ts';
import { findHeadEnd, hasBareLf } from './scan.ts';

/** More bytes have to come. */
export const HEAD_INCOMPLETE = 0;

/** Index behind the head that begins at `at`, HEAD_INCOMPLETE, or minus the fault (ERROR_*) that refuses it. */
export function requestHeadEnd(input: Buffer, at: number, { maxBytes, maxRequestLine }: HeadLimits): number {
  const end = findHeadEnd(input, at, input.length);
  if (end >= 0) {
    if (end - at <= maxBytes) return end;
    return -(input.indexOf('\r\n', at) - at > maxRequestLine ? ERROR_REQUEST_LINE_TOO_LONG : ERROR_HEAD_TOO_LARGE);
  }
  // What never can become a head is answered now: its client may be waiting for us, as one that speaks TLS is.
  if (!mayBeginMethod(input, at)) return -ERROR_METHOD;
  if (hasBareLf(input, at, input.length)) return -ERROR_LINE_END;
  if (input.length - at < maxBytes) return HEAD_INCOMPLETE;
  return -(input.indexOf('\r\n', at) < 0 ? ERROR_REQUEST_LINE_TOO_LONG : ERROR_HEAD_TOO_LARGE);
}

/** Token characters up to a space or the end of what is there; a lone CR may become an empty line. */
function mayBeginMethod(input: Buffer, from: number): boolean {
  let at = from;
  while (at < input.length && (CLASS[input[at]!]! & TOKEN) !== 0) at += 1;
  if (at === input.length) return true;
  return at === from ? isCrAtEnd(input, at) : input[at] === SP;
}

function isCrAtEnd(input: Buffer, at: number): boolean {
  return input[at] === CR && at + 1 === input.length;
}
