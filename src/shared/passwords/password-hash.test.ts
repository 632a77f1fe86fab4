import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashEffort, hashFault, readArgon2, writeArgon2 } from './hash-text.ts';
import { hashPassword, isPassword } from './password-hash.ts';

/** Of `sesame`. */
const BCRYPT = '$2b$04$B1Y1/jf0ytrjOd9aA1v0cuvNJcpSAs0zTutBN.QOwce6JC1.CaF36';
const ARGON2ID = '$argon2id$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$OQp8YeMUBvG4x+00oVFI7kWaxTZR2gt4mcips6gwLvc';

test('a password is right by its hash alone, whichever program made it', () => {
  for (const hash of [BCRYPT, BCRYPT.replace('$2b$', '$2a$'), BCRYPT.replace('$2b$', '$2y$'), ARGON2ID]) {
    assert.equal(isPassword(Buffer.from('sesame'), hash), true, hash);
    for (const wrong of ['', 'sesam', 'sesame ', 'Sesame']) assert.equal(isPassword(Buffer.from(wrong), hash), false);
  }
});

test('a hash that is made can be checked by', () => {
  const hash = hashPassword('grüße', 'argon2id');
  assert.equal(hashFault(hash), '');
  assert.equal(isPassword(Buffer.from('grüße'), hash), true);
  assert.notEqual(hashPassword('grüße', 'argon2id'), hash);
});

test('bcrypt refuses a password of which it would ignore the end', () => {
  assert.throws(() => hashPassword('x'.repeat(73), 'bcrypt'), /argon2id/);
});

test('an argon2id text reads and writes as it is', () => {
  assert.equal(writeArgon2(readArgon2(ARGON2ID)!), ARGON2ID);
});

test('hashes that cannot be checked, or not in time, say why', () => {
  for (const [hash, why] of [
    ['sesame', /neither/],
    ['$2b$04$short', /neither/],
    [BCRYPT.replace('$04$', '$17$'), /cost is 17/],
    [BCRYPT.replace('$04$', '$03$'), /cost is 3/],
    [ARGON2ID.replace('argon2id', 'argon2i'), /neither/],
    [ARGON2ID.replace('m=64', 'm=7'), /m=7/],
    [ARGON2ID.replace('m=64', 'm=9999999'), /m=9999999/],
    [ARGON2ID.replace('t=1', 't=0'), /t=0/],
    [ARGON2ID.replace('p=1', 'p=0'), /p=0/],
    [ARGON2ID.replace('MDEyMzQ1Njc4OWFiY2RlZg', 'MDEy'), /salt has 3/],
    [ARGON2ID.replace(/\$[^$]*$/, '$MDEy'), /has 3 bytes/],
  ] as const) {
    assert.match(hashFault(hash), why, hash);
  }
  assert.deepEqual([BCRYPT, ARGON2ID].map(hashFault), ['', '']);
});

test('the costlier hash takes more effort', () => {
  assert.ok(hashEffort(BCRYPT.replace('$04$', '$05$')) > hashEffort(BCRYPT));
  assert.ok(hashEffort(ARGON2ID.replace('t=1', 't=2')) > hashEffort(ARGON2ID));
});
