/** `uri query`: operations on keys and values of a query. Parts that no operation names stay as they are, in their order. */
import type { QueryOpsPlan, QueryReplacePlan } from '../../shared/plan/types.ts';
import { parseQuery } from './query.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import { compileRegexp, compileReplacement, replaceMatches } from './regexp.ts';
import type { RequestView } from './request-view.ts';
import { compileTemplate, type Template } from './template.ts';
import { encodeComponent } from './value-encoding.ts';

/** `key` and `value` are decoded bytes; `raw` is what is sent. */
interface Part {
  readonly key: string;
  readonly value: string;
  readonly raw: string;
}

type Operation = (parts: Part[], request: RequestView) => Part[];

/** null = the target has no query. */
export type QueryChange = (query: string | null, request: RequestView) => string | null;

/** Runs in the order rename, set, add, replace, delete. Throws `ConfigError` for bad expressions and placeholders. */
export function compileQueryOps(plan: QueryOpsPlan, facts: ProcessFacts): QueryChange {
  const text = (template: string): Template => compileTemplate(template, 'all', { encoding: 'text', facts });
  const operations: Operation[] = [
    ...plan.rename.map(({ key, value }) => rename(text(key), text(value))),
    ...plan.set.map(({ key, value }) => set(text(key), text(value))),
    ...plan.add.map(({ key, value }) => add(text(key), text(value))),
    ...plan.replace.map((rule) => replace(text(rule.key), compileChange(rule, facts))),
    ...plan.delete.map((key) => remove(text(key))),
  ];
  return (query, request) => {
    let parts = partsOf(query ?? '');
    for (const operation of operations) parts = operation(parts, request);
    return parts.length === 0 ? null : parts.map(({ raw }) => raw).join('&');
  };
}

function partsOf(query: string): Part[] {
  return query.split('&').flatMap((raw) => parseQuery(raw).map(([key, value]) => ({ key, value, raw })));
}

function part(key: string, value: string): Part {
  return { key, value, raw: `${encodeComponent(key)}=${encodeComponent(value)}` };
}

/** Values of the old name take the place of those of the new one. */
function rename(from: Template, to: Template): Operation {
  return (parts, request) => {
    const [oldKey, newKey] = [from.render(request), to.render(request)];
    if (oldKey === '' || newKey === '' || oldKey === newKey || !parts.some(({ key }) => key === oldKey)) return parts;
    return parts
      .filter(({ key }) => key !== newKey)
      .map((found) => (found.key === oldKey ? part(newKey, found.value) : found));
  };
}

/** Where the key stood first, else at the end. */
function set(keyOf: Template, valueOf: Template): Operation {
  return (parts, request) => {
    const name = keyOf.render(request);
    if (name === '') return parts;
    const next = part(name, valueOf.render(request));
    const at = parts.findIndex(({ key }) => key === name);
    if (at < 0) return [...parts, next];
    return parts.flatMap((found, index) => (index === at ? [next] : found.key === name ? [] : [found]));
  };
}

function add(keyOf: Template, valueOf: Template): Operation {
  return (parts, request) => {
    const name = keyOf.render(request);
    return name === '' ? parts : [...parts, part(name, valueOf.render(request))];
  };
}

/** The key `*` means every key. */
function replace(keyOf: Template, change: (value: string, request: RequestView) => string): Operation {
  return (parts, request) => {
    const name = keyOf.render(request);
    return parts.map((found) => {
      if (name !== '*' && found.key !== name) return found;
      const value = change(found.value, request);
      return value === found.value ? found : part(found.key, value);
    });
  };
}

function remove(keyOf: Template): Operation {
  return (parts, request) => {
    const name = keyOf.render(request);
    return parts.filter(({ key }) => key !== name);
  };
}

function compileChange(plan: QueryReplacePlan, facts: ProcessFacts): (value: string, request: RequestView) => string {
  if (plan.searchRegexp !== '') {
    const regexp = compileRegexp(plan.searchRegexp);
    const replacement = compileReplacement(plan.replace, facts, 'text');
    return (value, request) => replaceMatches(regexp, value, replacement, request);
  }
  const search = compileTemplate(plan.search, 'all', { encoding: 'text', facts });
  const put = compileTemplate(plan.replace, 'all', { encoding: 'text', facts });
  return (value, request) => {
    const found = search.render(request);
    return found === '' ? value : value.replaceAll(found, () => put.render(request));
  };
}
