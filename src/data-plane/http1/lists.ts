import { COMMA, HTAB, SP, spells } from './chars.ts';
import type { Head } from './head.ts';

export const MEMBER_FOUND = 1;
export const MEMBER_OTHER = 2;

/**
 * Looks through the comma-separated lists of all lines of a kind (RFC 9110 section 5.6.1, empty members do not count):
 * MEMBER_FOUND when a member spells `lower`, MEMBER_OTHER when one does not, as bits.
 */
export function membersOf(head: Head, kind: number, lower: string): number {
  const first = head.first[kind]!;
  if (first < 0) return 0;
  let found = 0;
  for (let field = first; field < head.count; field += 1) {
    if (head.kinds[field] !== kind) continue;
    found |= membersOfLine(head.text, head.offsets[field * 4 + 2]!, head.offsets[field * 4 + 3]!, lower);
  }
  return found;
}

function membersOfLine(text: string, start: number, end: number, lower: string): number {
  let found = 0;
  let at = start;
  while (at < end) {
    while (at < end && (isSpace(text.charCodeAt(at)) || text.charCodeAt(at) === COMMA)) at += 1;
    const memberStart = at;
    while (at < end && text.charCodeAt(at) !== COMMA) at += 1;
    let memberEnd = at;
    while (memberEnd > memberStart && isSpace(text.charCodeAt(memberEnd - 1))) memberEnd -= 1;
    if (memberEnd > memberStart) found |= spells(text, memberStart, memberEnd, lower) ? MEMBER_FOUND : MEMBER_OTHER;
  }
  return found;
}

function isSpace(code: number): boolean {
  return code === SP || code === HTAB;
}
