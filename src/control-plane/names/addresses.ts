import type { LookupAnswer } from './lookup.ts';

export interface FamilyAddresses {
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
}

/**
 * What is known after one more answer. PURE. A half that failed keeps what was known of it: a DNS
 * server that drops AAAA questions must neither hide new A records nor take the AAAA ones away.
 * IPv4 comes first, each family in ascending order, so that every process dials the same one first.
 */
export function mergeAddresses(
  before: FamilyAddresses,
  answer: LookupAnswer,
): { readonly known: FamilyAddresses; readonly addresses: readonly string[] } {
  const known = { ipv4: answer.ipv4 ?? before.ipv4, ipv6: answer.ipv6 ?? before.ipv6 };
  return { known, addresses: [...sorted(known.ipv4, ipv4Key), ...sorted(known.ipv6, (text) => text)] };
}

function sorted(addresses: readonly string[], key: (text: string) => string): string[] {
  return [...new Set(addresses)].sort((left, right) => (key(left) < key(right) ? -1 : 1));
}

/** `10.0.0.9` sorts before `10.0.0.10`. */
function ipv4Key(text: string): string {
  return text
    .split('.')
    .map((part) => part.padStart(3, '0'))
    .join('.');
}
