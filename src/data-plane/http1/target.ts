import { isAuthority } from './authority.ts';
import { ASTERISK, CLASS, COLON, QUESTION, SLASH, spells, TOKEN } from './chars.ts';
import { ERROR_TARGET } from './errors.ts';
import type { Head } from './head.ts';

/**
 * The forms of a request target, RFC 9112 section 3.2. Fills `originForm`, and `authority` for the absolute form.
 * `head.method` and `head.target` are set and hold allowed characters only. Returns 0 or ERROR_TARGET.
 */
export function readTarget(head: Head): number {
  const { target } = head;
  const code = target.charCodeAt(0);
  if (code === SLASH) {
    head.originForm = target;
    return 0;
  }
  if (code !== ASTERISK) return readAbsoluteForm(head);
  if (target.length !== 1 || head.method !== 'OPTIONS') return ERROR_TARGET;
  head.originForm = target;
  return 0;
}

/** Section 3.2.2. Only the schemes we serve; to the upstream go path and query, byte for byte. */
function readAbsoluteForm(head: Head): number {
  const { target } = head;
  const start = endOfScheme(target);
  if (start < 0) return ERROR_TARGET;
  let end = start;
  while (end < target.length && target.charCodeAt(end) !== SLASH && target.charCodeAt(end) !== QUESTION) end += 1;
  if (!isAuthority(target, start, end)) return ERROR_TARGET;
  head.authority = target.slice(start, end);
  if (end === target.length) {
    // Section 3.2.4: the last hop turns an OPTIONS for an authority alone back into `*`.
    head.originForm = head.method === 'OPTIONS' ? '*' : '/';
    return 0;
  }
  const rest = target.slice(end);
  head.originForm = rest.charCodeAt(0) === SLASH ? rest : `/${rest}`;
  return 0;
}

/** Index behind `http://` or `https://`, −1 when the target begins with neither. */
function endOfScheme(target: string): number {
  let colon = 0;
  while (colon < 6 && (CLASS[target.charCodeAt(colon)]! & TOKEN) !== 0) colon += 1;
  if (target.charCodeAt(colon) !== COLON) return -1;
  if (!spells(target, 0, colon, 'http') && !spells(target, 0, colon, 'https')) return -1;
  if (target.charCodeAt(colon + 1) !== SLASH || target.charCodeAt(colon + 2) !== SLASH) return -1;
  return colon + 3;
}
