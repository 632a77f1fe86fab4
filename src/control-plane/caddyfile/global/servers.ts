import { failure } from '../syntax/failure.ts';
import { blockOf, some } from '../syntax/read.ts';
import { nearestHint } from '../unknown-word.ts';
import type { GlobalOption, ServerOptions } from './option.ts';
import { SERVER_OPTIONS } from './server-options.ts';

/** `servers [<listen address>] { … }`. A block with an address wins over one without; they are not merged. */
export const servers: GlobalOption = {
  name: 'servers',
  parse(statement, options, adaptation) {
    const [address = null] = some({ ...statement, block: null }, 0, 1);
    if (options.servers.some((known) => (known.address?.text ?? '') === (address?.text ?? ''))) {
      const which = address === null ? 'all addresses' : address.text;
      throw failure(address ?? statement.name, `duplicate servers block for ${which}: write all of it in one`);
    }
    const block: ServerOptions = { address, name: '', fields: {}, logCredentials: false, metrics: null };
    for (const line of blockOf(statement)) {
      const { text } = line.name;
      const parse = Object.hasOwn(SERVER_OPTIONS, text) ? SERVER_OPTIONS[text] : undefined;
      if (parse === undefined) {
        const hint = nearestHint(text, Object.keys(SERVER_OPTIONS));
        throw failure(line.name, `unrecognized servers option '${text}'${hint}`);
      }
      parse(line, block, adaptation);
    }
    options.servers.push(block);
  },
};
