/** Which header names the client: the first of `client_ip_headers` that is present, all its lines. */
import type { Head } from '../http1/head.ts';

export type ClientIpList = (head: Head) => string;

/**
 * Compiles `client_ip_headers` to a function that returns the list to scan, '' when none is present.
 * A header that is present but empty is present: later names are not asked.
 */
export function compileClientIpHeaders(names: readonly string[]): ClientIpList {
  const lowerNames = names.map((name) => name.toLowerCase());
  return (head) => {
    for (const name of lowerNames) {
      const first = head.findField(name, 0);
      if (first >= 0) return joinLines(head, name, first);
    }
    return '';
  };
}

function joinLines(head: Head, lowerName: string, first: number): string {
  let list = head.valueOf(first);
  let field = head.findField(lowerName, first + 1);
  while (field >= 0) {
    list += `, ${head.valueOf(field)}`;
    field = head.findField(lowerName, field + 1);
  }
  return list;
}
