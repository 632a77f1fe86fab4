import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { deriveTokenKey, digestIdentity, NONCE_BYTES, openToken, sealToken, TOKEN_LENGTH } from './cookie-token.ts';

const KEY = deriveTokenKey('one secret of thirty-two bytes or more');
const OTHER = deriveTokenKey('another secret of thirty-two bytes or more');
const CONTENT = { issuedMinutes: 31_556_160, digest: digestIdentity('app-1:3000') };

function seal(key = KEY): string {
  return sealToken(key, 'lb', CONTENT, randomBytes(NONCE_BYTES));
}

describe('an affinity token', () => {
  test('gives back what was sealed', () => {
    assert.deepEqual(openToken([KEY], 'lb', seal()), CONTENT);
  });

  test('has a fixed length and is safe in a cookie', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 0, max: 0xffffffff }), (identity, issuedMinutes) => {
        const content = { issuedMinutes, digest: digestIdentity(identity) };
        const token = sealToken(KEY, 'lb', content, randomBytes(NONCE_BYTES));
        assert.match(token, /^[A-Za-z0-9_-]{56}$/);
        assert.deepEqual(openToken([KEY], 'lb', token), content);
      }),
    );
    assert.equal(seal().length, TOKEN_LENGTH);
  });

  test('is another one every time, and does not show whose it is', () => {
    const tokens = Array.from({ length: 1000 }, () => seal());
    assert.equal(new Set(tokens).size, 1000);
    assert.ok(!tokens.some((token) => Buffer.from(token, 'base64url').includes(Buffer.from(CONTENT.digest, 'hex'))));
  });

  test('is void with any byte changed', () => {
    const bytes = Buffer.from(seal(), 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      assert.equal(openToken([KEY], 'lb', changed.toString('base64url')), null, `byte ${at}`);
    }
  });

  test('has one spelling', () => {
    let token = seal();
    while (!token.includes('-')) token = seal();
    const spellings = [`${token}=`, ` ${token}`, `"${token}"`, token.slice(1), token.replace('-', '+')];
    for (const spelling of spellings) assert.equal(openToken([KEY], 'lb', spelling), null, spelling);
  });

  test('is void under another cookie name or secret', () => {
    assert.equal(openToken([KEY], 'other', seal()), null);
    assert.equal(openToken([OTHER], 'lb', seal()), null);
  });

  test('opens with any secret of a rotation', () => {
    assert.deepEqual(openToken([OTHER, KEY], 'lb', seal(KEY)), CONTENT);
    assert.deepEqual(openToken([OTHER, KEY], 'lb', seal(OTHER)), CONTENT);
  });

  test('opens with the right one of two secrets that share a key id', () => {
    const twin = { id: KEY.id, key: OTHER.key };
    assert.deepEqual(openToken([twin, KEY], 'lb', seal()), CONTENT);
  });

  test('keys depend on nothing but the secret', () => {
    const again = deriveTokenKey('one secret of thirty-two bytes or more');
    assert.equal(again.id, KEY.id);
    assert.deepEqual(openToken([again], 'lb', seal()), CONTENT);
  });

  test('junk is no token and never throws', () => {
    const near = fc.stringMatching(/^[A-Za-z0-9_-]{56}$/);
    fc.assert(fc.property(fc.oneof(fc.string(), near), (text) => assert.equal(openToken([KEY], 'lb', text), null)));
  });
});
