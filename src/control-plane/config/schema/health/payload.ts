/** Bytes as a config writes them. */
import { accept } from '../primitives.ts';
import type { z } from 'zod';

const MAX_PAYLOAD_BYTES = 1024;
const HEX = 'hex:';
const ESCAPES: Readonly<Record<string, string>> = Object.freeze({
  r: '\r',
  n: '\n',
  t: '\t',
  '0': '\0',
  '\\': '\\',
});

/**
 * The bytes of a text as latin1, one character a byte; null when it is malformed. `\r \n \t \0 \\ \xHH`
 * are escapes, other characters stand for their UTF-8 bytes; after `hex:` there are digits, and spaces.
 */
export function parsePayload(text: string): string | null {
  if (text.startsWith(HEX)) return parseHex(text.slice(HEX.length).replaceAll(' ', ''));
  let bytes = '';
  for (const [part = ''] of text.matchAll(/\\x[0-9a-fA-F]{2}|\\.?|[^\\]+/gsu)) {
    if (!part.startsWith('\\')) bytes += Buffer.from(part, 'utf8').toString('latin1');
    else if (part.length === 4) bytes += String.fromCharCode(Number.parseInt(part.slice(2), 16));
    else if (Object.hasOwn(ESCAPES, part.slice(1))) bytes += ESCAPES[part.slice(1)];
    else return null;
  }
  return bytes;
}

function parseHex(digits: string): string | null {
  if (digits.length === 0 || !/^(?:[0-9a-fA-F]{2})+$/.test(digits)) return null;
  return Buffer.from(digits, 'hex').toString('latin1');
}

/** Yields latin1. */
export function payload(): z.ZodType<string> {
  const expected = `1 to ${MAX_PAYLOAD_BYTES} bytes as text (escapes \\r \\n \\t \\0 \\\\ \\xHH) or hex:<digits>`;
  return accept(expected, (value) => {
    const bytes = typeof value === 'string' ? parsePayload(value) : null;
    return bytes === null || bytes.length === 0 || bytes.length > MAX_PAYLOAD_BYTES ? undefined : bytes;
  });
}
