/** RE2 expressions (linear time, no look-around) and replacements with `$1` and `${name}`, as Go expands them. */
import { RE2JS, type Matcher as Re2Matcher } from 're2js';
import { ConfigError } from '../../shared/config-error.ts';
import { fromBytes, isAscii, toBytes } from './bytes.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import type { RequestView } from './request-view.ts';
import { compileTemplate, type Template } from './template.ts';
import type { ValueEncoding } from './value-encoding.ts';

/** Throws `ConfigError` with RE2's complaint. */
export function compileRegexp(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`'${pattern}' is no valid RE2 regular expression: ${why}`, null, { cause: error });
  }
}

/** A number refers to a template, a string to a group by number or name. */
type Part = { readonly template: number } | { readonly group: number | string };

export interface Replacement {
  readonly parts: readonly Part[];
  readonly templates: readonly Template[];
}

/**
 * `$1`, `$name`, `${1}`, `${name}` are groups and `$$` a dollar; the rest is a template. What a template renders is
 * never read for dollars again, so no request can name a group.
 */
export function compileReplacement(text: string, facts: ProcessFacts, encoding: ValueEncoding = 'field'): Replacement {
  const parts: Part[] = [];
  const templates: Template[] = [];
  const addTemplate = (literal: string): void => {
    if (literal === '') return;
    parts.push({ template: templates.length });
    templates.push(compileTemplate(literal, 'known', { encoding, facts }));
  };
  let from = 0;
  for (const found of text.matchAll(/\$(?:(\$)|\{(\w+)\}|(\w+))/g)) {
    const [whole, dollar, braced, bare] = found;
    addTemplate(text.slice(from, found.index) + (dollar ?? ''));
    from = found.index + whole.length;
    const name = braced ?? bare;
    if (name !== undefined) parts.push({ group: /^\d+$/.test(name) ? Number(name) : name });
  }
  addTemplate(text.slice(from));
  return { parts, templates };
}

/**
 * Characters that the matches of one value may make the engine look at. One search is linear, but each may read to the
 * end before it settles for less (`a.*z|a`), and a peer sends the value: 16 KiB of `a` would take seconds.
 */
const MAX_WORK = 2 ** 24;

/**
 * Replaces every match in `value` (bytes). Bytes that are UTF-8 are searched as text, others one character a byte. Of a
 * value with absurdly many matches (1024 in 16 KiB) the rest is left out: nothing passes that was not looked at.
 */
export function replaceMatches(regexp: RE2JS, value: string, replacement: Replacement, request: RequestView): string {
  return replaceEach(regexp, value, (matcher, show) => expand(matcher, show, replacement, request));
}

/** As `replaceMatches`, with what `put` makes of a match; `show` turns what was matched into bytes again. */
export function replaceEach(
  regexp: RE2JS,
  value: string,
  put: (matcher: Re2Matcher, show: (text: string) => string) => string,
): string {
  const { input, show } = readable(value);
  const matcher = regexp.matcher(input);
  let result = '';
  let from = 0;
  let isFirst = true;
  for (let work = 0; matcher.find(); work += input.length) {
    if (work >= MAX_WORK) return result;
    const start = matcher.start();
    const end = matcher.end();
    // As in Go, an empty match right behind the match before it does not count.
    if (!isFirst && start === end && start === from) continue;
    isFirst = false;
    result += show(input.slice(from, start));
    result += put(matcher, show);
    from = end;
  }
  return result + show(input.slice(from));
}

/** The replacement for the first match in `value` (bytes); null when there is none. */
export function expandFirst(
  regexp: RE2JS,
  value: string,
  replacement: Replacement,
  request: RequestView,
): string | null {
  const { input, show } = readable(value);
  const matcher = regexp.matcher(input);
  return matcher.find() ? expand(matcher, show, replacement, request) : null;
}

function expand(
  matcher: Re2Matcher,
  show: (text: string) => string,
  replacement: Replacement,
  request: RequestView,
): string {
  let result = '';
  for (const part of replacement.parts) {
    result +=
      'template' in part ? replacement.templates[part.template]!.render(request) : show(groupText(matcher, part.group));
  }
  return result;
}

/** Bytes as they are searched, and the way back for parts of them. */
export function readable(value: string): { readonly input: string; readonly show: (text: string) => string } {
  if (isAscii(value)) return { input: value, show: asItIs };
  const decoded = fromBytes(value);
  return toBytes(decoded) === value ? { input: decoded, show: toBytes } : { input: value, show: asItIs };
}

function asItIs(text: string): string {
  return text;
}

/** '' for a group that took no part or does not exist, as in Go. */
export function groupText(matcher: Re2Matcher, group: number | string): string {
  const known = typeof group === 'number' ? group <= matcher.groupCount() : Object.hasOwn(matcher.namedGroups, group);
  return known ? (matcher.group(group) ?? '') : '';
}
