import type { Directive } from '../context.ts';
import { some } from '../syntax/read.ts';

/** `bind <host or network address>…`. */
export const bind: Directive = {
  name: 'bind',
  parse: (statement) => [{ kind: 'bind', addresses: some(statement, 1) }],
};
