import { isIP } from 'node:net';
import { setField } from '../context.ts';
import { failure } from '../syntax/failure.ts';
import { some } from '../syntax/read.ts';
import type { Token } from '../syntax/token.ts';
import type { GlobalOption } from './option.ts';

/** `resolvers <ip>[:<port>]…`: DNS servers asked for upstream names instead of the system's resolver. */
export const resolvers: GlobalOption = {
  name: 'resolvers',
  parse(statement, options, adaptation) {
    const addresses = some(statement, 1).map(resolverAddress);
    setField(options.http, 'resolvers', addresses, statement.name, adaptation.origins);
  },
};

function resolverAddress(token: Token): string {
  const { text } = token;
  if (isIP(text) !== 0) return text;
  const [, v6 = '', v4 = '', port = ''] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
  if ((isIP(v6) === 6 || isIP(v4) === 4) && Number(port) >= 1 && Number(port) <= 65_535) return text;
  throw failure(token, `bad resolver '${text}': write an IP address, with a port if it is not 53`);
}
