import { parseLogBlock } from '../logging/log-block.ts';
import { failure } from '../syntax/failure.ts';
import { some } from '../syntax/read.ts';
import type { GlobalOption } from './option.ts';

/** `log [<name>] { … }`: a logger, `default` without a name. */
export const log: GlobalOption = {
  name: 'log',
  parse(statement, options, adaptation) {
    const [written] = some({ ...statement, block: null }, 0, 1);
    const name = written?.text ?? 'default';
    if (options.logs.some((known) => known.name === name)) {
      throw failure(written ?? statement.name, `duplicate global log option for: ${name}`);
    }
    const { config } = parseLogBlock(statement, 'global');
    const empty = Object.keys(config).length === 0;
    if (!empty) adaptation.origins.mark(config, statement.name);
    options.logs.push({ name, config: empty ? null : config, hostnames: [], noHostname: false });
  },
};
