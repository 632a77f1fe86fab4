import { bcryptCost, readArgon2 } from '../../shared/passwords/hash-text.ts';
import type { AuthenticationPlan } from '../../shared/plan/types.ts';
import type { AuthenticationConfig, HashAlgorithm } from '../config/schema/authentication.ts';
import type { Compilation } from './compilation.ts';

const DEFAULT_REALM = 'restricted';

/** Faults of names and hashes are found by the worker's own compiler, which runs on every handler. */
export function compileAuthentication(
  run: Compilation,
  path: string,
  config: AuthenticationConfig,
): AuthenticationPlan {
  const { accounts, hash, realm, hash_cache: cache } = config.providers.http_basic;
  for (const { username, password } of accounts) {
    if (/[{}]/.test(username)) run.notYet(path, 'placeholders in names of accounts');
    const found = algorithmOf(password);
    if (found !== null && found !== hash.algorithm) {
      run.fail(path, `the password hash of account '${username}' is ${found}: write 'basic_auth ${found}'`);
    }
  }
  return {
    handler: 'authentication',
    realm: realm === '' ? DEFAULT_REALM : realm,
    accounts: accounts.map(({ username, password }) => ({ username, hash: password })),
    cache: cache !== null,
  };
}

function algorithmOf(hash: string): HashAlgorithm | null {
  if (bcryptCost(hash) !== null) return 'bcrypt';
  return readArgon2(hash) === null ? null : 'argon2id';
}
