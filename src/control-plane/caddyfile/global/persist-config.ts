import { failure } from '../syntax/failure.ts';
import { one } from '../syntax/read.ts';
import type { GlobalOption } from './option.ts';

/** `persist_config off`. */
export const persistConfig: GlobalOption = {
  name: 'persist_config',
  parse(statement, options) {
    const token = one(statement);
    if (token.text !== 'off') throw failure(token, `persist_config must be 'off', not '${token.text}'`);
    options.persistConfig = false;
  },
};
