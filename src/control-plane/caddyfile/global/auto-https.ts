import { failure } from '../syntax/failure.ts';
import { some } from '../syntax/read.ts';
import type { AutoHttps, GlobalOption } from './option.ts';

const WORDS: readonly AutoHttps[] = ['off', 'disable_redirects', 'disable_certs', 'ignore_loaded_certs'];

/** `auto_https off|disable_redirects|disable_certs|ignore_loaded_certs…`. */
export const autoHttps: GlobalOption = {
  name: 'auto_https',
  parse(statement, options) {
    for (const token of some(statement, 1)) {
      const word = WORDS.find((known) => known === token.text);
      if (word === undefined)
        throw failure(token, `auto_https must be one of ${WORDS.join(', ')}; got '${token.text}'`);
      options.autoHttps.add(word);
    }
  },
};
