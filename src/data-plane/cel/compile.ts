/** CEL to a function of the request. Everything that can be wrong is found here, when the configuration is read. */
import { toBytes } from '../route/bytes.ts';
import type { RequestView } from '../route/request-view.ts';
import { celFault } from './fault.ts';
import { compileComparison, comparisonFault } from './operators.ts';
import { parseCel, type Node } from './parser.ts';
import { FREE_TEXT_FUNCTIONS, TEXT_FUNCTIONS } from './text-functions.ts';
import { nameOf, textOf, type FlagValue, type TextValue, type Value } from './value.ts';

/** An argument of a function of the environment: known at load time. */
export type Constant = string | readonly Constant[] | { readonly [key: string]: Constant };

type Test = (request: RequestView) => boolean;

export interface CelEnvironment {
  /** What stands behind `{name}`. Throws `ConfigError` for a name there is not. */
  placeholder(name: string): Value;
  /** A test by name and constant arguments; null for a name there is not. May throw `ConfigError`. */
  call(name: string, args: readonly Constant[]): Test | null;
}

/** Throws `ConfigError` that names the character. The test never throws. */
export function compileCel(text: string, environment: CelEnvironment): Test {
  const tree = parseCel(text);
  return flagOf(tree, { text, environment }).read;
}

interface Scope {
  readonly text: string;
  readonly environment: CelEnvironment;
}

function flagOf(node: Node, scope: Scope): FlagValue {
  const value = compileNode(node, scope);
  if (value.type === 'flag') return value;
  throw celFault(scope.text, node.at, `a condition (true or false) should stand here, found ${nameOf(value)}`);
}

function compileNode(node: Node, scope: Scope): Value {
  switch (node.kind) {
    case 'text':
      return textOf(toBytes(node.value));
    case 'integer':
      return { type: 'integer', read: () => node.value };
    case 'flag':
      return { type: 'flag', read: () => node.value };
    case 'placeholder':
      return scope.environment.placeholder(node.name);
    case 'list':
      return { type: 'list', items: node.items.map((item) => compileNode(item, scope)) };
    case 'map':
      throw celFault(scope.text, node.at, 'a map can only be an argument of a matcher, such as header({...})');
    case 'not': {
      const { read } = flagOf(node.operand, scope);
      return { type: 'flag', read: (request) => !read(request) };
    }
    case 'and':
    case 'or':
      return compileChain(node.kind, node.operands, scope);
    case 'compare': {
      const left = compileNode(node.left, scope);
      const right = compileNode(node.right, scope);
      const fault = comparisonFault(node.operator, left, right);
      if (fault !== null) throw celFault(scope.text, node.at, fault);
      return compileComparison(node.operator, left, right);
    }
    case 'call':
      return compileCall(node, scope);
  }
}

function compileChain(kind: 'and' | 'or', operands: readonly Node[], scope: Scope): FlagValue {
  const tests = operands.map((operand) => flagOf(operand, scope).read);
  const read: Test =
    kind === 'and'
      ? (request) => tests.every((test) => test(request))
      : (request) => tests.some((test) => test(request));
  return { type: 'flag', read };
}

type Call = Extract<Node, { readonly kind: 'call' }>;

function compileCall(node: Call, scope: Scope): Value {
  if (node.target !== null) return compileTextFunction(node, node.target, node.args, scope);
  if (FREE_TEXT_FUNCTIONS.includes(node.name)) {
    const [target, ...args] = node.args;
    if (target === undefined) throw celFault(scope.text, node.at, `${node.name}() needs a text`);
    return compileTextFunction(node, target, args, scope);
  }
  const args = node.args.map((arg) => constantOf(arg, scope));
  const test = scope.environment.call(node.name, args);
  if (test === null) throw celFault(scope.text, node.at, `there is no function ${node.name}()`);
  return { type: 'flag', read: test };
}

function compileTextFunction(node: Call, target: Node, args: readonly Node[], scope: Scope): Value {
  const known = Object.hasOwn(TEXT_FUNCTIONS, node.name) ? TEXT_FUNCTIONS[node.name] : undefined;
  if (known === undefined) throw celFault(scope.text, node.at, `there is no function ${node.name}() of a text`);
  if (args.length !== known.args) {
    throw celFault(scope.text, node.at, `${node.name}() takes ${known.args} argument${known.args === 1 ? '' : 's'}`);
  }
  const texts = args.map((arg) => textValueOf(arg, scope));
  if (node.name === 'matches' && texts[0]?.constant === null) {
    throw celFault(scope.text, node.at, 'the pattern of matches() must be written out');
  }
  return known.compile(textValueOf(target, scope), texts);
}

function textValueOf(node: Node, scope: Scope): TextValue {
  const value = compileNode(node, scope);
  if (value.type === 'text') return value;
  throw celFault(scope.text, node.at, `a text should stand here, found ${nameOf(value)}`);
}

function constantOf(node: Node, scope: Scope): Constant {
  switch (node.kind) {
    case 'text':
      return node.value;
    case 'list':
      return node.items.map((item) => constantOf(item, scope));
    case 'map':
      return Object.fromEntries(
        node.entries.map(([key, value]) => {
          if (key.kind !== 'text') throw celFault(scope.text, key.at, 'the key of a map must be a text');
          return [key.value, constantOf(value, scope)];
        }),
      );
    default:
      throw celFault(scope.text, node.at, 'the arguments of a matcher are texts, lists and maps, written out');
  }
}
