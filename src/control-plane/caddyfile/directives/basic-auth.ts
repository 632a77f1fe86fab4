import type { Directive } from '../context.ts';
import { defined, type JsonObject } from '../json.ts';
import { failure } from '../syntax/failure.ts';
import { blockOf, wrongCount } from '../syntax/read.ts';
import type { Statement } from '../syntax/statement.ts';
import { handlerDirective } from './handler.ts';

const ALGORITHMS: readonly string[] = ['bcrypt', 'argon2id'];

/** `basic_auth [<matcher>] [<hash_algorithm> [<realm>]] { <username> <hashed_password> … }`. */
export const basicAuth: Directive = handlerDirective('basic_auth', parse);

/** The name it had before. */
export const basicAuthOld: Directive = handlerDirective('basicauth', parse);

function parse(statement: Statement): JsonObject[] {
  const [algorithm, realm, surplus] = statement.args;
  if (surplus !== undefined) throw wrongCount(statement);
  if (algorithm !== undefined && !ALGORITHMS.includes(algorithm.text)) {
    throw failure(algorithm, `unrecognized hash algorithm: '${algorithm.text}' (known are bcrypt and argon2id)`);
  }
  const provider = defined({
    hash: { algorithm: algorithm?.text ?? 'bcrypt' },
    accounts: blockOf(statement).map(account),
    realm: realm === undefined || realm.text === '' ? undefined : realm.text,
    hash_cache: {},
  });
  return [{ handler: 'authentication', providers: { http_basic: provider } }];
}

function account(line: Statement): JsonObject {
  const [hash, surplus] = line.args;
  if (surplus !== undefined) throw wrongCount(line);
  if (line.name.text === '' || hash === undefined || hash.text === '') {
    throw failure(line.name, 'username and password cannot be empty or missing');
  }
  return { username: line.name.text, password: hash.text };
}
