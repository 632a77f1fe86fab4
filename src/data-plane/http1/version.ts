import { CLASS, DIGIT, ZERO } from './chars.ts';
import { ERROR_VERSION } from './errors.ts';
import type { Head } from './head.ts';

export const VERSION_LENGTH = 8;

const NAME = 'HTTP/';

/**
 * Reads `HTTP/1.1` or `HTTP/1.0` at `at` into `head.version`. Returns 0, `malformed` when no version stands there, or
 * ERROR_VERSION. That includes 1.2 and above: RFC 9110 section 2.5 would read them as 1.1, Node's parser refuses them,
 * and nobody sends them.
 */
export function readVersion(text: string, at: number, head: Head, malformed: number): number {
  for (let index = 0; index < NAME.length; index += 1) {
    if (text.charCodeAt(at + index) !== NAME.charCodeAt(index)) return malformed;
  }
  const major = text.charCodeAt(at + 5);
  const minor = text.charCodeAt(at + 7);
  if ((CLASS[major]! & CLASS[minor]! & DIGIT) === 0 || text.charCodeAt(at + 6) !== 0x2e) return malformed;
  if (major !== ZERO + 1 || minor > ZERO + 1) return ERROR_VERSION;
  head.version = minor === ZERO ? 10 : 11;
  return 0;
}
