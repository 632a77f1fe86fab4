import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CookiePlan } from '../../shared/plan/types.ts';
import { COOKIE } from './policy.contract.ts';
import { cookieAttributes } from './set-cookie.ts';

describe('cookieAttributes', () => {
  const cases: readonly (readonly [
    title: string,
    secure: boolean,
    changes: Partial<CookiePlan>,
    attributes: string,
  ])[] = [
    ['plain', false, {}, '; Path=/; HttpOnly; SameSite=Lax'],
    ['TLS', true, {}, '; Path=/; HttpOnly; Secure; SameSite=None'],
    ['lifetime', false, { maxAgeSeconds: 3600 }, '; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax'],
    ['Strict', true, { sameSite: 'Strict' }, '; Path=/; HttpOnly; Secure; SameSite=Strict'],
    ['None on a plain connection', false, { sameSite: 'None' }, '; Path=/; HttpOnly; SameSite=Lax'],
    ['secure on a plain connection', false, { secure: true }, '; Path=/; HttpOnly; Secure; SameSite=None'],
    ['not secure over TLS', true, { secure: false }, '; Path=/; HttpOnly; SameSite=Lax'],
    ['readable by scripts', false, { httpOnly: false }, '; Path=/; SameSite=Lax'],
    ['partitioned', true, { partitioned: true }, '; Path=/; HttpOnly; Secure; SameSite=None; Partitioned'],
    ['partitioned on a plain connection', false, { partitioned: true }, '; Path=/; HttpOnly; SameSite=Lax'],
    [
      'path and domain',
      false,
      { path: '/app', domain: 'a.example' },
      '; Path=/app; Domain=a.example; HttpOnly; SameSite=Lax',
    ],
  ];
  for (const [title, secure, changes, attributes] of cases) {
    test(title, () => assert.equal(cookieAttributes({ ...COOKIE, ...changes }, secure), attributes));
  }
});
