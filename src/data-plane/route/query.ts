/** Queries, read for matching and placeholders. The query itself is never rebuilt from this. */
import { decodePercent } from './bytes.ts';

/** `a=1&b` → decoded pairs in order. Empty parts are skipped; bad escapes stay as they are. */
export function parseQuery(query: string): (readonly [key: string, value: string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (const part of query.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    pairs.push(equals < 0 ? [decode(part), ''] : [decode(part.slice(0, equals)), decode(part.slice(equals + 1))]);
  }
  return pairs;
}

/** Decoded values of one key, in order. */
export function queryValues(query: string, key: string): string[] {
  return parseQuery(query).flatMap(([name, value]) => (name === key ? [value] : []));
}

function decode(text: string): string {
  return decodePercent(text.includes('+') ? text.replaceAll('+', ' ') : text);
}
