import { type JsonObject, ownList } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';

/** `uri query <op>` or `uri query { <op> … }`, an op being `-k`, `+k v`, `k>new`, `k v` or `k <regexp> <replacement>`. */
export function uriQuery(line: Statement, block: readonly Statement[] | null): JsonObject {
  const ops: JsonObject = {};
  const [key, ...args] = line.args;
  if (key === undefined && block === null) throw wrongCount(line);
  if (key !== undefined && block !== null) {
    throw failure(key, 'uri query takes its operations either as arguments or in the block');
  }
  if (key !== undefined) addOperation(ops, { name: key, args, block: null });
  for (const operation of block ?? []) addOperation(ops, operation);
  return ops;
}

function addOperation(ops: JsonObject, operation: Statement): void {
  const { name, args } = operation;
  const [first = '', second = ''] = args.map(({ text }) => text);
  const add = (kind: string, value: string | JsonObject, count: number): void => {
    if (args.length !== count || operation.block !== null) throw wrongCount(operation);
    ops[kind] = [...ownList(ops, kind), value];
  };
  if (name.text.startsWith('-')) {
    add('delete', name.text.replace(/^-+/, ''), 0);
  } else if (name.text.startsWith('+')) {
    add('add', { key: name.text.replace(/^\++/, ''), val: first }, 1);
  } else if (name.text.includes('>')) {
    const [key = '', val = ''] = name.text.split('>');
    add('rename', { key, val }, 0);
  } else if (args.length === 2) {
    add('replace', { key: name.text, search_regexp: first, replace: second }, 2);
  } else {
    add('set', { key: name.text, val: first }, 1);
  }
}
