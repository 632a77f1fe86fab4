/** RE2 expressions (linear time, no look-around) and replacements with `$1` and `${name}`, as Go expands them. */
import { RE2JS, type Matcher as Re2Matcher } from 're2js';
import { ConfigError } from '../../shared/config-error.ts';
import { fromBytes, isAscii, toBytes } from './bytes.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import type { RequestView } from './request-view.ts';
import { compileTemplate, type Template } from './template.ts';

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
export function compileReplacement(text: string, facts: ProcessFacts): Replacement {
  const parts: Part[] = [];
  const templates: Template[] = [];
  const addTemplate = (literal: string): void => {
    if (literal === '') return;
    parts.push({ template: templates.length });
    templates.push(compileTemplate(literal, 'known', { facts }));
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
 * Replaces every match in `value` (bytes). Bytes that are UTF-8 are searched as text, others one character a byte.
 * `templates` are those of the replacement, or bound copies.
 */
export function replaceMatches(
  regexp: RE2JS,
  value: string,
  replacement: Replacement,
  templates: readonly Template[],
  request: RequestView,
): string {
  const decoded = fromBytes(value);
  const isText = !isAscii(value) && toBytes(decoded) === value;
  const input = isText ? decoded : value;
  const show = isText ? toBytes : (text: string): string => text;
  const matcher = regexp.matcher(input);
  let result = '';
  let from = 0;
  let isFirst = true;
  while (matcher.find()) {
    const start = matcher.start();
    const end = matcher.end();
    // As in Go, an empty match right behind the match before it does not count.
    if (!isFirst && start === end && start === from) continue;
    isFirst = false;
    result += show(input.slice(from, start));
    for (const part of replacement.parts) {
      result += 'template' in part ? templates[part.template]!.render(request) : show(groupText(matcher, part.group));
    }
    from = end;
  }
  return result + show(input.slice(from));
}

/** '' for a group that took no part or does not exist, as in Go. */
function groupText(matcher: Re2Matcher, group: number | string): string {
  const known = typeof group === 'number' ? group <= matcher.groupCount() : Object.hasOwn(matcher.namedGroups, group);
  return known ? (matcher.group(group) ?? '') : '';
}
