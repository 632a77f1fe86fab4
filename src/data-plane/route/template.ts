/** Text with placeholders, compiled once at load. */
import { toBytes } from './bytes.ts';
import { findPlaceholder } from './placeholder/find.ts';
import { NO_FACTS, type Placeholder, type ProcessFacts, type Read } from './placeholder/placeholder.ts';
import type { RequestView } from './request-view.ts';
import { ENCODERS, type ValueEncoding } from './value-encoding.ts';

export interface Template {
  /** The whole text when it is the same for every request, else null. */
  readonly constant: string | null;
  /** Bytes, one latin1 character each. Never throws. */
  render(request: RequestView): string;
  /** Holds a `{http.reverse_proxy.…}` value, which may change from try to try. */
  readonly usesProxyValues: boolean;
}

export interface TemplateOptions {
  /** Where the text goes; decides how values are encoded. Default `field`. */
  readonly encoding?: ValueEncoding;
  /** Default: nothing known. */
  readonly facts?: ProcessFacts;
}

/** `known` keeps `{names}` nobody knows as they are written, `all` makes them empty. */
export type UnknownNames = 'known' | 'all';

/** A literal, or what is read per request. */
type Segment = string | Read;

/**
 * Compiles `text` (UTF-16, as configured). `\{` and `\}` are the braces themselves; an opening brace that is never
 * closed is literal. Throws `ConfigError` for placeholders of Caddy's that do not exist here.
 */
export function compileTemplate(text: string, mode: UnknownNames, options: TemplateOptions = {}): Template {
  const { encoding = 'field', facts = NO_FACTS } = options;
  const segments: Segment[] = [];
  let usesProxyValues = false;
  for (const token of tokensOf(text)) {
    const placeholder = token.name === null ? null : findPlaceholder(token.name, facts);
    const written = token.name === null || mode === 'known' ? literal(token.text, encoding) : '';
    segments.push(placeholder === null ? written : segmentOf(placeholder, encoding, written));
    usesProxyValues ||= placeholder?.isProxyValue === true;
  }
  return templateOf(mergeLiterals(segments), usesProxyValues);
}

/** A template that is always this text (bytes). */
function constantTemplate(bytes: string): Template {
  return { constant: bytes, render: () => bytes, usesProxyValues: false };
}

interface TemplateToken {
  /** null for literal text, whose escapes are resolved already. */
  readonly name: string | null;
  /** As written, braces included, for a placeholder. */
  readonly text: string;
}

/** Cuts a text into literals and placeholders. */
function tokensOf(text: string): TemplateToken[] {
  const tokens: TemplateToken[] = [];
  let literalText = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!;
    if (character === '\\' && (text[at + 1] === '{' || text[at + 1] === '}')) {
      literalText += text[(at += 1)]!;
      continue;
    }
    const end = character === '{' ? text.indexOf('}', at) : -1;
    if (end < 0) {
      literalText += character;
      continue;
    }
    // `{"a": {http.request.host}}`: a name holds no brace, so an outer brace is literal.
    const name = text.slice(at + 1, end);
    if (!isName(name)) {
      literalText += character;
      continue;
    }
    if (literalText !== '') tokens.push({ name: null, text: literalText });
    literalText = '';
    tokens.push({ name, text: text.slice(at, end + 1) });
    at = end;
  }
  if (literalText !== '') tokens.push({ name: null, text: literalText });
  return tokens;
}

/** Names hold no white space, quotes or braces; CSS and JSON in a body therefore stay what they are. */
function isName(name: string): boolean {
  return /^[^\s{}"'\\;]+$/.test(name);
}

/**
 * Literal text of the operator. In a field, line breaks become spaces, as Go does, so that a long
 * Content-Security-Policy may be written over several lines.
 */
function literal(text: string, encoding: ValueEncoding): string {
  const bytes = toBytes(text);
  if (encoding === 'field') return ENCODERS.field(bytes.replace(/\r?\n|\r/g, ' '));
  // The operator's own markup stays what it is.
  if (encoding === 'markup') return bytes;
  return encoding === 'component' ? ENCODERS.target(bytes) : ENCODERS[encoding](bytes);
}

function segmentOf(placeholder: Placeholder, encoding: ValueEncoding, written: string): Segment {
  const encode = ENCODERS[encoding];
  if (placeholder.constant !== undefined) return encode(placeholder.constant);
  const { read, readRaw } = placeholder;
  const mayStandRaw = encoding === 'target' || (encoding === 'component' && placeholder.isQuery === true);
  // A raw part is escaped already; `target` leaves its escapes alone.
  if (mayStandRaw && readRaw !== undefined) return (request) => ENCODERS.target(readRaw(request) ?? written);
  return (request) => {
    const value = read(request);
    return value === undefined ? written : encode(value);
  };
}

function mergeLiterals(segments: readonly Segment[]): Segment[] {
  const merged: Segment[] = [];
  for (const segment of segments) {
    const last = merged.at(-1);
    if (typeof segment === 'string' && typeof last === 'string') merged[merged.length - 1] = last + segment;
    else merged.push(segment);
  }
  return merged;
}

function templateOf(segments: readonly Segment[], usesProxyValues: boolean): Template {
  const [only = ''] = segments;
  if (segments.length <= 1) {
    if (typeof only === 'string') return constantTemplate(only);
    return { constant: null, render: (request) => only(request) ?? '', usesProxyValues };
  }
  const render = (request: RequestView): string => {
    let text = '';
    for (const segment of segments) text += typeof segment === 'string' ? segment : (segment(request) ?? '');
    return text;
  };
  return { constant: null, render, usesProxyValues };
}
