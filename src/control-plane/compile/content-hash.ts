/** Names content by its hash: equal content, equal name, whatever order its keys were written in. */
import { createHash } from 'node:crypto';

const HASH_DIGITS = 32;

/** First 32 hex digits of SHA-256 over the canonical JSON of `content`. */
export function hashContent(content: unknown): string {
  return createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, HASH_DIGITS);
}

/** JSON with sorted keys and without white space. `content` is plain data. */
function canonicalJson(content: unknown): string {
  return JSON.stringify(content, (_key, value: unknown) => (isRecord(value) ? sortKeys(value) : value));
}

function sortKeys(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const sorted: [string, unknown][] = Object.keys(record)
    .sort()
    .map((key) => [key, record[key]]);
  return Object.fromEntries(sorted);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
