/** Texts with a syntax of their own: regular expressions, addresses, header fields, placeholders. */
import { isIP } from 'node:net';
import { RE2JS } from 're2js';
import { z } from 'zod';
import { splitHostPort } from '../../../shared/net/address.ts';
import { parseCidr } from '../../../shared/net/cidr.ts';
import { accept, textLike } from './primitives.ts';

/** A placeholder as the data plane would replace it: `{http.request.host}`, `{env.HOME}`. */
const PLACEHOLDER = /\{[A-Za-z_][\w.$%?-]*\}/;

/** RFC 9110 section 5.6.2 `token`. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export function hasPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
}

/** A header field name. A leading or trailing `*` is legal in a token and means what the caller says. */
export function isFieldName(value: string): boolean {
  return TOKEN.test(value);
}

/** A header field value: nothing that could end the line (RFC 9110 section 5.5). */
export function fieldValue(): z.ZodType<string> {
  return textLike(/^[^\r\n\0]*$/, 'a header value without CR, LF and NUL');
}

/** A number or a template, as text. */
export function statusCode(): z.ZodType<string> {
  return accept('a status code from 200 to 599, or a placeholder', (value) => {
    const word = typeof value === 'number' ? String(value) : value;
    if (typeof word !== 'string') return undefined;
    return /^[2-5]\d\d$/.test(word) || hasPlaceholder(word) ? word : undefined;
  });
}

export function method(): z.ZodType<string> {
  return textLike(TOKEN, 'a request method such as GET');
}

/** A header field name, as a list item. */
export function fieldName(): z.ZodType<string> {
  return textLike(TOKEN, 'a header field name');
}

/** RE2 syntax, '' = none. Compiled here only to refuse what the data plane could not compile. */
export function re2Pattern(): z.ZodType<string> {
  return z.unknown().transform((value, context) => {
    const fault = typeof value === 'string' ? patternFault(value) : 'it is not a text';
    if (fault === null && typeof value === 'string') return value;
    context.addIssue({ code: 'custom', message: `expected a regular expression (RE2 syntax): ${fault}` });
    return z.NEVER;
  });
}

/** An IP address, a CIDR prefix or the word `private_ranges`. */
export function ipRange(): z.ZodType<string> {
  return accept('an IP address, a prefix such as 10.0.0.0/8, or private_ranges', (value) => {
    return typeof value === 'string' && (value === 'private_ranges' || isIpRange(value)) ? value : undefined;
  });
}

export function isIpRange(value: string): boolean {
  try {
    parseCidr(value);
    return true;
  } catch {
    return false;
  }
}

/** `ip`, `ip:port` or `[v6]:port` of a DNS server. */
export function resolverAddress(): z.ZodType<string> {
  return accept('the IP address of a DNS server, with or without a port', (value) => {
    return typeof value === 'string' && isResolver(value) ? value : undefined;
  });
}

function isResolver(value: string): boolean {
  const parts = splitHostPort(value);
  return parts !== null && isIP(parts.host) !== 0 && parts.port !== 0;
}

function patternFault(pattern: string): string | null {
  try {
    RE2JS.compile(pattern);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
