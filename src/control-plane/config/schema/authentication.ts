/** `authentication`: of Caddy's providers there is `http_basic`. */
import { z } from 'zod';
import { fieldValue } from './patterns.ts';
import { moduleOf } from './module.ts';
import { list, notYet, object, orNull, text, wholeNumber } from './primitives.ts';

export type HashAlgorithm = 'bcrypt' | 'argon2id';

export interface AuthenticationConfig {
  readonly handler: 'authentication';
  readonly providers: { readonly http_basic: HttpBasicConfig };
}

interface HttpBasicConfig {
  readonly hash: { readonly algorithm: HashAlgorithm };
  /** `password` is a hash. */
  readonly accounts: readonly { readonly username: string; readonly password: string }[];
  readonly realm: string;
  /** null = no password is remembered. */
  readonly hash_cache: object | null;
}

/** Parameters of new hashes; those that are checked say theirs themselves. */
const uint32 = wholeNumber(0, 4_294_967_295);
const hash: z.ZodType<HttpBasicConfig['hash']> = moduleOf<HttpBasicConfig['hash']>({
  key: 'algorithm',
  noun: 'password hash algorithm',
  modules: () => ({
    bcrypt: object({ algorithm: z.literal('bcrypt'), cost: orNull(uint32) }),
    argon2id: object({
      algorithm: z.literal('argon2id'),
      time: orNull(uint32),
      memory: orNull(uint32),
      threads: orNull(uint32),
      key_length: orNull(uint32),
    }),
  }),
  notYet: ['scrypt'],
  fallback: 'bcrypt',
});

/** Caddy once wanted the hash in base64 and still takes it. */
const passwordHash = text('a password hash').transform((value) => {
  return value.startsWith('$') ? value : Buffer.from(value, 'base64').toString('latin1');
});

const account = object({
  username: text('the name of an account'),
  password: passwordHash,
  salt: notYet('salt of an account'),
});

const httpBasic: z.ZodType<HttpBasicConfig> = object({
  hash: hash.prefault({}),
  accounts: list(account).default([]),
  realm: fieldValue().default(''),
  hash_cache: orNull(object({})),
});

export const authenticationSchema: z.ZodType<AuthenticationConfig> = object({
  handler: z.literal('authentication'),
  providers: object({ http_basic: httpBasic }),
});
