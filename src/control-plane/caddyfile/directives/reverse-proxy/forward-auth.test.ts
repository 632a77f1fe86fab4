import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adaptCaddyfile } from '../../adapt.ts';

function adapt(lines: string): string {
  const { config } = adaptCaddyfile(`:80 {\n forward_auth auth:9000 {\n${lines}\n }\n}\n`, {
    filename: 'Caddyfile',
    env: {},
  });
  return JSON.stringify(config);
}

test('the request goes to the server as GET, and what it answers is told apart by its class', () => {
  const json = adapt('uri /verify');
  assert.match(json, /"rewrite":\{"method":"GET","uri":"\/verify"\}/);
  assert.match(
    json,
    /"X-Forwarded-Method":\["\{http\.request\.method\}"\],"X-Forwarded-Uri":\["\{http\.request\.uri\}"\]/,
  );
  assert.match(
    json,
    /"handle_response":\[\{"match":\{"status_code":\[2\]\},"routes":\[\{"handle":\[\{"handler":"vars"\}\]\}\]\}\]/,
  );
});

test('each copied field is deleted first and set where the answer has it, in the order of their names', () => {
  const json = adapt(
    'uri /v\ncopy_headers {\n remote-user>x-user\n Remote-Email\n}\n@no status 403\nhandle_response @no {\n respond no\n}',
  );
  const deleted = [...json.matchAll(/"delete":\["([^"]+)"\]/g)].map(([, name]) => name);
  assert.deepEqual(deleted, ['Remote-Email', 'X-User']);
  assert.match(json, /"vars":\{"\{http\.reverse_proxy\.header\.Remote-User\}":\[""\]\}/);
  assert.match(json, /"set":\{"X-User":\["\{http\.reverse_proxy\.header\.Remote-User\}"\]\}/);
  assert.ok(json.indexOf('"status_code":[2]') < json.indexOf('"status_code":[403]'));
});

const FAULTS: readonly (readonly [lines: string, message: RegExp])[] = [
  ['copy_headers A', /the 'uri' subdirective is required, at Caddyfile:2/],
  ['uri', /at Caddyfile:3/],
  ['uri /a /b', /at Caddyfile:3/],
  ['uri /a\ncopy_headers', /at Caddyfile:4/],
  ['uri /a\nnonsense', /unrecognized subdirective nonsense, at Caddyfile:4/],
];

for (const [lines, message] of FAULTS) {
  test(`${JSON.stringify(lines)} is refused with its line`, () => {
    assert.throws(() => adapt(lines), message);
  });
}
