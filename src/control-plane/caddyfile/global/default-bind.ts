import { some } from '../syntax/read.ts';
import type { GlobalOption } from './option.ts';

/** `default_bind <host or network address>…`: for sites without `bind`. */
export const defaultBind: GlobalOption = {
  name: 'default_bind',
  parse(statement, options) {
    options.defaultBind = some(statement, 1);
  },
};
