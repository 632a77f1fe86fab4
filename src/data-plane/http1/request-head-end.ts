/** Where the head of a request ends in what a client has sent so far, before anything in it is read. */
import type { HeadLimits } from './limits.ts';
import { findHeadEnd, hasBareLf } from './scan.ts';

/** The first byte of a TLS record with a ClientHello; no method begins with it. */
const TLS_HANDSHAKE = 22;

/** More bytes have to come. */
export const HEAD_INCOMPLETE = 0;

/** Index behind the head that begins at `at`, HEAD_INCOMPLETE, or minus the status that refuses it (400, 414, 431). */
export function requestHeadEnd(input: Buffer, at: number, { maxBytes, maxRequestLine }: HeadLimits): number {
  const end = findHeadEnd(input, at, input.length);
  if (end >= 0) {
    if (end - at <= maxBytes) return end;
    return input.indexOf('\r\n', at) - at > maxRequestLine ? -414 : -431;
  }
  if (hasBareLf(input, at, input.length) || input[at] === TLS_HANDSHAKE) return -400;
  if (input.length - at < maxBytes) return HEAD_INCOMPLETE;
  return input.indexOf('\r\n', at) < 0 ? -414 : -431;
}
