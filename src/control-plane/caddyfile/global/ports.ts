import { setField } from '../context.ts';
import { failure } from '../syntax/failure.ts';
import { integer, one } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import type { GlobalOption } from './option.ts';

function port(statement: Statement): number {
  const token = one(statement);
  const value = integer(token, 'bad port number');
  if (value < 1 || value > 65_535) throw failure(token, `port ${token.text} is out of range`);
  return value;
}

/** `http_port <port>`: where sites with `http://` listen. Default 80. */
export const httpPort: GlobalOption = {
  name: 'http_port',
  parse(statement, options, adaptation) {
    options.httpPort = port(statement);
    setField(options.http, 'http_port', options.httpPort, statement.name, adaptation.origins);
  },
};

/** `https_port <port>`: where other sites listen. Default 443. */
export const httpsPort: GlobalOption = {
  name: 'https_port',
  parse(statement, options, adaptation) {
    options.httpsPort = port(statement);
    setField(options.http, 'https_port', options.httpsPort, statement.name, adaptation.origins);
  },
};
