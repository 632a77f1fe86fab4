import type { Directive, SiteContext, SiteValue } from '../context.ts';
import { parseLogBlock } from '../logging/log-block.ts';
import { some } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';

/** `log [<name>] { output …; format …; level …; hostnames …; no_hostname; sampling … }`. */
export const log: Directive = {
  name: 'log',
  parse(statement: Statement, context: SiteContext): SiteValue[] {
    const [written] = some({ ...statement, block: null }, 0, 1);
    const { config, hostnames, noHostname } = parseLogBlock(statement, 'site');
    const empty = Object.keys(config).length === 0;
    const name = written?.text ?? (empty ? '' : `log${context.adaptation.nextLog++}`);
    if (!empty) {
      config['include'] = [`http.log.access.${name}`];
      context.adaptation.origins.mark(config, statement.name);
    }
    return [{ kind: 'log', log: { name, config: empty ? null : config, hostnames, noHostname } }];
  },
};
