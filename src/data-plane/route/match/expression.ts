/** CEL expressions over a request: placeholders are looked up, functions are the other matchers. */
import { ConfigError } from '../../../shared/config-error.ts';
import type { MatcherPlan, RegexpPlan } from '../../../shared/plan/types.ts';
import { compileCel, type Constant } from '../../cel/compile.ts';
import { textOf, type Value } from '../../cel/value.ts';
import { findPlaceholder } from '../placeholder/find.ts';
import type { Read } from '../placeholder/placeholder.ts';
import type { MatchContext, Matcher, PlanOf } from './matcher.ts';

/** `compileMatcher` comes as an argument: an expression is a matcher itself. Throws `ConfigError`. */
export function compileExpression(
  plan: PlanOf<'expression'>,
  context: MatchContext,
  compileMatcher: (plan: MatcherPlan, context: MatchContext) => Matcher,
): Matcher {
  return compileCel(plan.expression, {
    placeholder: (name) => placeholderValue(name, context),
    call(name, args) {
      const matcher = matcherOf(name, args);
      return matcher === null ? null : compileMatcher(matcher, context);
    },
  });
}

/** Placeholders that are numbers in Caddy; the others are texts. */
const INTEGERS: readonly string[] = [
  'http.error.status_code',
  'http.reverse_proxy.status_code',
  'http.reverse_proxy.retries',
];
const FLAG = 'http.reverse_proxy.is_transport_error';

function placeholderValue(name: string, { facts }: MatchContext): Value {
  const placeholder = findPlaceholder(name, facts);
  if (placeholder === null) throw new ConfigError(`expression: there is no placeholder {${name}}`);
  const { read, constant } = placeholder;
  if (name === FLAG) return { type: 'flag', read: (request) => read(request) === 'true' };
  if (INTEGERS.includes(name)) return { type: 'integer', read: (request) => integerOf(read, request) };
  if (constant !== undefined) return textOf(constant);
  return { type: 'text', read: (request) => read(request) ?? '', constant: null };
}

function integerOf(read: Read, request: Parameters<Read>[0]): number {
  const text = read(request) ?? '';
  return text === '' ? Number.NaN : Number(text);
}

/** null when there is no such function. */
function matcherOf(name: string, args: readonly Constant[]): MatcherPlan | null {
  switch (name) {
    case 'path':
      return { kind: 'path', paths: texts(name, args) };
    case 'method':
      return { kind: 'method', methods: texts(name, args) };
    case 'host':
      return { kind: 'host', hosts: texts(name, args) };
    case 'protocol':
      return { kind: 'protocol', protocol: single(name, texts(name, args)) };
    case 'header':
      return { kind: 'header', header: fields(name, args) };
    case 'query':
      return { kind: 'query', query: fields(name, args) };
    case 'remote_ip':
      return { kind: 'remote_ip', ranges: texts(name, args) };
    case 'client_ip':
      return { kind: 'client_ip', ranges: texts(name, args) };
    case 'path_regexp':
      return { kind: 'path_regexp', regexp: regexpOf(name, texts(name, args), 1) };
    case 'header_regexp': {
      const found = texts(name, args);
      return { kind: 'header_regexp', fields: { [found.at(-2) ?? '']: regexpOf(name, found, 2) } };
    }
    case 'vars':
      return { kind: 'vars', vars: fields(name, args) };
    case 'vars_regexp': {
      const found = texts(name, args);
      return { kind: 'vars_regexp', vars: { [found.at(-2) ?? '']: regexpOf(name, found, 2) } };
    }
    default:
      return null;
  }
}

/** The pattern comes last; a name for its captures may come first. `least`: arguments without that name. */
function regexpOf(name: string, args: readonly string[], least: number): RegexpPlan {
  const [first = ''] = args;
  const pattern = args.at(-1) ?? '';
  if (args.length === least) return { name: '', pattern };
  if (args.length === least + 1) return { name: first, pattern };
  throw new ConfigError(`expression: ${name}() takes ${least} or ${least + 1} texts, the pattern last`);
}

function texts(name: string, args: readonly Constant[]): string[] {
  const [only] = args;
  const list: readonly Constant[] = args.length === 1 && Array.isArray(only) ? only : args;
  const found = list.filter((arg) => typeof arg === 'string');
  if (found.length === list.length && found.length > 0) return found;
  throw new ConfigError(`expression: ${name}() takes one or more texts, such as ${name}('…')`);
}

function single(name: string, found: readonly string[]): string {
  const [only = ''] = found;
  if (found.length === 1) return only;
  throw new ConfigError(`expression: ${name}() takes one text`);
}

/** One map of names and values; a value is a text or a list of texts. */
function fields(name: string, args: readonly Constant[]): Record<string, readonly string[]> {
  const [map] = args;
  if (args.length !== 1 || map === undefined || typeof map === 'string' || Array.isArray(map)) {
    throw new ConfigError(`expression: ${name}() takes one map, such as ${name}({'name': 'value'})`);
  }
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, texts(name, [value])]));
}
