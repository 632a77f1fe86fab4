/**
 * Operations on header fields. A list of fields is an array of alternating names and values (bytes), so that order,
 * repetition and spelling of what passes stay as they were; lines are never joined.
 */
import { ConfigError } from '../../shared/config-error.ts';
import type { HeaderOpsPlan } from '../../shared/plan/types.ts';
import { checkFieldName, isOwnField, keepFields, setField } from './field-list.ts';
import { compileReplacements, type FieldReplace } from './header-replace.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import type { RequestView } from './request-view.ts';
import { compileTemplate, type Template } from './template.ts';
import { compileWildcard, type WildcardTest } from './wildcard.ts';

export interface CompiledHeaderOps {
  /** Run before anything is added; null = nothing to delete first. */
  readonly removeAll: WildcardTest | null;
  readonly add: readonly FieldLines[];
  readonly set: readonly FieldLines[];
  /** Tests on lower-case names. */
  readonly remove: readonly WildcardTest[];
  readonly replace: readonly FieldReplace[];
  /** Some value depends on the upstream that was picked: apply again for each try. */
  readonly usesProxyValues: boolean;
}

export type HeaderSide = 'request' | 'response';

interface FieldLines {
  readonly name: string;
  readonly lower: string;
  readonly lines: readonly Template[];
}

/** Names in `plan` that have no effect because the proxy writes these fields itself. The control plane warns of them. */
export function ignoredFields(plan: HeaderOpsPlan): string[] {
  const names = [...plan.add, ...plan.set, ...plan.replace].map(([name]) => name);
  return [...new Set([...names, ...plan.delete])].filter((name) => isOwnField(name.toLowerCase()));
}

/** Throws `ConfigError` for bad names, bad regular expressions, and for deleting `Host` from a request. */
export function compileHeaderOps(plan: HeaderOpsPlan, side: HeaderSide, facts: ProcessFacts): CompiledHeaderOps {
  const isHost = (name: string): boolean => side === 'request' && name.toLowerCase() === 'host';
  if (plan.delete.some(isHost)) {
    throw new ConfigError(
      'the Host field of a request cannot be deleted (RFC 9112 section 3.2); set it to another value',
    );
  }
  // A second Host line would make the request malformed: adding one means setting it.
  const add = plan.add.filter(([name]) => !isHost(name));
  const set = [...plan.add.filter(([name]) => isHost(name)), ...plan.set];
  return summarise({
    removeAll: plan.delete.includes('*') ? compileRemoval('*', isHost) : null,
    add: compileLines(add, facts, false),
    set: compileLines(set, facts, true),
    remove: plan.delete.filter((name) => name !== '*').map((name) => compileRemoval(name, isHost)),
    replace: compileReplacements(plan.replace, facts),
  });
}

/**
 * Changes `fields` in place: delete all, add, set, delete, replace. For a request `fields` holds its Host line; that
 * one is set and replaced like any other, but no wildcard deletes it. Rendered values hold no control character.
 */
export function applyHeaderOps(ops: CompiledHeaderOps, fields: string[], request: RequestView): void {
  const { removeAll, remove } = ops;
  if (removeAll !== null) keepFields(fields, (lower) => !removeAll(lower));
  for (const { name, lines } of ops.add) {
    for (const line of lines) fields.push(name, line.render(request));
  }
  for (const { name, lower, lines } of ops.set) {
    setField(
      fields,
      lower,
      lines.flatMap((line) => [name, line.render(request)]),
    );
  }
  if (remove.length > 0) keepFields(fields, (lower) => !remove.some((test) => test(lower)));
  for (const replacement of ops.replace) replacement.apply(fields, request);
}

function summarise(steps: Omit<CompiledHeaderOps, 'usesProxyValues'>): CompiledHeaderOps {
  const templates = [...steps.add, ...steps.set].flatMap(({ lines }) => lines);
  templates.push(...steps.replace.flatMap(({ templates: used }) => used));
  return {
    ...steps,
    usesProxyValues: templates.some(({ usesProxyValues }) => usesProxyValues),
  };
}

/** Several values to set are one comma-separated line, except Set-Cookie, which no comma may join (RFC 6265 section 3). */
function compileLines(entries: HeaderOpsPlan['set'], facts: ProcessFacts, joins: boolean): FieldLines[] {
  return entries.flatMap(([name, values]) => {
    const lower = checkFieldName(name).toLowerCase();
    if (isOwnField(lower)) return [];
    const texts = joins && lower !== 'set-cookie' ? [values.join(',')] : values;
    return [{ name, lower, lines: texts.map((text) => compileTemplate(text.trim(), 'known', { facts })) }];
  });
}

function compileRemoval(name: string, isHost: (name: string) => boolean): WildcardTest {
  const test = compileWildcard(checkFieldName(name).toLowerCase());
  return (lower) => test(lower) && !isOwnField(lower) && !isHost(lower);
}
