/** Lists of header fields: alternating names and values, in order, names spelled as they came. */
import { ConfigError } from '../../shared/config-error.ts';

/**
 * Fields that say where a message ends or what this connection does (RFC 9112 section 6, RFC 9110 section 7.6.1). The
 * proxy writes them itself, for each leg; no operation reaches them.
 */
const OWN_FIELDS: readonly string[] = Object.freeze([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export function isOwnField(lowerName: string): boolean {
  return OWN_FIELDS.includes(lowerName);
}

/** A field name as RFC 9110 section 5.1 wants it, or a `ConfigError`. */
export function checkFieldName(name: string): string {
  if (/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) return name;
  throw new ConfigError(`'${name}' is not a header field name (RFC 9110 section 5.1); write a name like X-Request-Id`);
}

/** Position of the name of the first such line at or behind `from`, −1 when there is none. */
export function findField(fields: readonly string[], lowerName: string, from: number): number {
  for (let at = from; at < fields.length; at += 2) {
    const name = fields[at]!;
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) return at;
  }
  return -1;
}

/** Drops the lines whose lower-case name `keeps` refuses. */
export function keepFields(fields: string[], keeps: (lowerName: string) => boolean): void {
  let kept = 0;
  for (let at = 0; at < fields.length; at += 2) {
    if (!keeps(fields[at]!.toLowerCase())) continue;
    fields[kept] = fields[at]!;
    fields[kept + 1] = fields[at + 1]!;
    kept += 2;
  }
  fields.length = kept;
}

/** `lines` (alternating names and values) take the place of the first line of that name, or come last; others go. */
export function setField(fields: string[], lowerName: string, lines: readonly string[]): void {
  const at = findField(fields, lowerName, 0);
  if (at < 0) {
    fields.push(...lines);
    return;
  }
  for (let other = findField(fields, lowerName, at + 2); other >= 0; other = findField(fields, lowerName, other)) {
    fields.splice(other, 2);
  }
  fields.splice(at, 2, ...lines);
}
