/**
 * The one walk over a forwarding header. Deriving the client, explaining it and rewriting
 * X-Forwarded-For all use it, so that they cannot disagree on what an entry is or where junk begins.
 */
import type { IpAddress } from '../../shared/net/ip.ts';
import { parseHop, trimSpaces } from './hop.ts';

/**
 * Visits the entries of a comma-separated list from the right; `visit` gets null for junk and says
 * whether to go on. Empty elements are skipped (RFC 9110 section 5.6.1.2).
 */
export function scanHops(list: string, visit: (hop: IpAddress | null, text: string) => boolean): void {
  let end = list.length;
  while (end >= 0) {
    // lastIndexOf clamps a negative position to 0, where a leading comma would be found again.
    const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1);
    const text = trimSpaces(list.slice(comma + 1, end));
    if (text !== '' && !visit(parseHop(text), text)) return;
    end = comma;
  }
}
