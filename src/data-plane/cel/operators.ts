/** Comparisons. Both sides have one type, which is checked when the configuration is read. */
import type { RequestView } from '../route/request-view.ts';
import type { Comparison } from './parser.ts';
import { nameOf, type FlagValue, type ListValue, type Value } from './value.ts';

type Test = (request: RequestView) => boolean;
type Reader<T> = (request: RequestView) => T;

/** null = fine, else what is wrong. */
export function comparisonFault(operator: Comparison, left: Value, right: Value): string | null {
  if (operator === 'in') return membershipFault(left, right);
  if (left.type === 'list' || right.type === 'list') return 'lists can only stand behind in';
  if (left.type !== right.type) return mismatch(left, right);
  if (left.type === 'flag' && operator !== '==' && operator !== '!=') return `${operator} does not order flags`;
  return null;
}

function membershipFault(left: Value, right: Value): string | null {
  if (right.type !== 'list') return `in needs a list, such as [404, 410], behind it, not ${nameOf(right)}`;
  if (left.type === 'list') return 'a list in a list is not supported';
  const odd = right.items.find((item) => item.type !== left.type);
  return odd === undefined ? null : mismatch(left, odd);
}

function mismatch(left: Value, right: Value): string {
  return `${nameOf(left)} never equals ${nameOf(right)}: write both as the same kind`;
}

/** `comparisonFault` has nothing against it. */
export function compileComparison(operator: Comparison, left: Value, right: Value): FlagValue {
  return { type: 'flag', read: testOf(operator, left, right) };
}

function testOf(operator: Comparison, left: Value, right: Value): Test {
  if (right.type === 'list') return memberTest(left, right);
  if (left.type === 'integer' && right.type === 'integer') return orderTest(operator, left.read, right.read);
  if (left.type === 'text' && right.type === 'text') return orderTest(operator, left.read, right.read);
  if (left.type === 'flag' && right.type === 'flag') return orderTest(operator, left.read, right.read);
  throw new Error('compared values of different types');
}

/** UTF-8 bytes are in the order of their characters, so texts compare as bytes. */
function orderTest<T extends string | number | boolean>(operator: Comparison, left: Reader<T>, right: Reader<T>): Test {
  switch (operator) {
    case '==':
      return (request) => left(request) === right(request);
    case '!=':
      return (request) => left(request) !== right(request);
    case '<':
      return (request) => left(request) < right(request);
    case '<=':
      return (request) => left(request) <= right(request);
    case '>':
      return (request) => left(request) > right(request);
    case '>=':
      return (request) => left(request) >= right(request);
    case 'in':
      throw new Error('in is no order');
  }
}

function memberTest(left: Value, { items }: ListValue): Test {
  const tests = items.map((item) => testOf('==', left, item));
  return (request) => tests.some((test) => test(request));
}
