import { flag } from '../syntax/read.ts';
import type { GlobalOption } from './option.ts';

/** `debug`: the default log level becomes DEBUG. */
export const debug: GlobalOption = {
  name: 'debug',
  parse(statement, options) {
    flag(statement);
    options.debug = true;
  },
};
