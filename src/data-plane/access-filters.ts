/** Changes of one field of an access line that look inside of it (PURE). */
import { createHash } from 'node:crypto';
import type { Matcher as Re2Matcher } from 're2js';
import type { QueryActionPlan } from '../shared/plan/types.ts';
import { parseQuery } from './route/query.ts';
import { compileRegexp, groupText, replaceEach } from './route/regexp.ts';
import { joinTarget, splitTarget } from './route/target.ts';
import { encodeComponent } from './route/value-encoding.ts';

/** Digits of a hashed value: enough to tell values apart, too few to find an address by its hash among all. */
const HASH_DIGITS = 8;

export function hashed(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, HASH_DIGITS);
}

/** Replaces every match; `$1`, `$name` and `${name}` in `replacement` are groups, `$$` is a dollar. Throws `ConfigError`. */
export function replacingMatches(pattern: string, replacement: string): (text: string) => string {
  const regexp = compileRegexp(pattern);
  const expand = compileGroups(replacement);
  return (text) => replaceEach(regexp, text, expand);
}

function compileGroups(text: string): (matcher: Re2Matcher, show: (text: string) => string) => string {
  const parts: ((matcher: Re2Matcher, show: (text: string) => string) => string)[] = [];
  let from = 0;
  for (const found of text.matchAll(/\$(?:(\$)|\{(\w+)\}|(\w+))/g)) {
    const [whole, dollar = '', braced, bare] = found;
    const literal = text.slice(from, found.index) + dollar;
    const name = braced ?? bare;
    from = found.index + whole.length;
    parts.push(() => literal);
    if (name !== undefined) {
      const group = /^\d+$/.test(name) ? Number(name) : name;
      parts.push((matcher, show) => show(groupText(matcher, group)));
    }
  }
  const rest = text.slice(from);
  return (matcher, show) => parts.map((part) => part(matcher, show)).join('') + rest;
}

/** Changes parameters of the query of a target; the rest of it stays as it is. */
export function changingQuery(actions: readonly QueryActionPlan[]): (target: string) => string {
  return (target) => {
    const { path, query } = splitTarget(target);
    if (query === null) return target;
    const parts = query.split('&').flatMap((part) => {
      const [pair] = parseQuery(part);
      const action = pair === undefined ? undefined : actions.find(({ parameter }) => parameter === pair[0]);
      return pair === undefined || action === undefined ? [part] : changedPart(pair, action);
    });
    return joinTarget(path, parts.length === 0 ? null : parts.join('&'));
  };
}

function changedPart([key, value]: readonly [string, string], { type, value: given }: QueryActionPlan): string[] {
  if (type === 'delete') return [];
  return [`${encodeComponent(key)}=${encodeComponent(type === 'hash' ? hashed(value) : given)}`];
}
