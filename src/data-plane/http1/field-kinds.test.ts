import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldKind } from './field-kinds.ts';
import * as head from './head.ts';

const KINDS: Readonly<Record<string, number>> = {
  Host: head.FIELD_HOST,
  Connection: head.FIELD_CONNECTION,
  'Content-Length': head.FIELD_CONTENT_LENGTH,
  'Transfer-Encoding': head.FIELD_TRANSFER_ENCODING,
  TE: head.FIELD_TE,
  Trailer: head.FIELD_TRAILER,
  Upgrade: head.FIELD_UPGRADE,
  'Keep-Alive': head.FIELD_KEEP_ALIVE,
  'Proxy-Connection': head.FIELD_PROXY_CONNECTION,
  'Proxy-Authenticate': head.FIELD_PROXY_AUTHENTICATE,
  'Proxy-Authorization': head.FIELD_PROXY_AUTHORIZATION,
  Expect: head.FIELD_EXPECT,
  'X-Forwarded-For': head.FIELD_X_FORWARDED_FOR,
  'X-Forwarded-Proto': head.FIELD_X_FORWARDED_PROTO,
  'X-Forwarded-Host': head.FIELD_X_FORWARDED_HOST,
  Cookie: head.FIELD_COOKIE,
  'Set-Cookie': head.FIELD_SET_COOKIE,
  Via: head.FIELD_VIA,
  Server: head.FIELD_SERVER,
  Date: head.FIELD_DATE,
  'Alt-Svc': head.FIELD_ALT_SVC,
  'HTTP2-Settings': head.FIELD_HTTP2_SETTINGS,
};

test('every kind has a name, found in any case and at any place', () => {
  assert.equal(Object.keys(KINDS).length, head.FIELD_KINDS - 1);
  for (const [name, kind] of Object.entries(KINDS)) {
    for (const spelling of [name, name.toLowerCase(), name.toUpperCase()]) {
      assert.equal(fieldKind(`--${spelling}--`, 2, 2 + spelling.length), kind, spelling);
    }
  }
});

test('a name that differs in one character is another one', () => {
  for (const name of Object.keys(KINDS)) {
    for (let at = 0; at < name.length; at += 1) {
      for (const other of ['_', '~', '!', '0']) {
        const changed = name.slice(0, at) + other + name.slice(at + 1);
        assert.equal(fieldKind(changed, 0, changed.length), head.FIELD_OTHER, changed);
      }
    }
    assert.equal(fieldKind(`${name}x`, 0, name.length + 1), head.FIELD_OTHER);
    assert.equal(fieldKind(name, 0, name.length - 1), head.FIELD_OTHER);
  }
});
