/** `handle_response`: from config to plan. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, compileJson, configOf, proxy, type Json } from '../../../test/support/config-fixtures.ts';

const HANDLER = 'apps.http.servers.srv0.routes.0.handle.0';

function compiled(entries: readonly Json[], positions = new Map([['apps', at(1)]])) {
  return compileJson(configOf([proxy(['app:80'], { handle_response: entries })]), { positions }).compiled;
}

test('entries keep their order, and pools of their routes belong to the site', () => {
  const { sections } = compiled([
    {
      match: { status_code: [5, 404], headers: { 'X-A': ['b*'], 'X-B': null } },
      routes: [{ handle: [proxy(['other:80'])] }],
    },
    { status_code: '200' },
  ]);
  const site = [...sections.values()].find((section) => section.kind === 'site');
  assert.ok(site?.kind === 'site');
  const text = JSON.stringify(site.route);
  assert.match(text, /"match":\{"status":\[5,404\],"headers":\{"X-A":\["b\*"\],"X-B":null\}\},"statusCode":""/);
  assert.match(text, /\{"match":null,"statusCode":"200","routes":\[\]\}/);
  assert.equal(site.pools.length, 2);
});

const REFUSED: readonly (readonly [what: string, entries: readonly Json[], message: RegExp])[] = [
  ['a status that is none', [{ status_code: 101 }], /expected a status code from 200 to 599, or a placeholder/],
  ['status and routes', [{ status_code: 200, routes: [{}] }], /expected either status_code or routes/],
  ['a matcher of a status that is none', [{ match: { status_code: [9] } }], /expected a status code from 100 to 599/],
  [
    'fields both included and excluded',
    [{ routes: [{ handle: [{ handler: 'copy_response_headers', include: ['A'], exclude: ['B'] }] }] }],
    /expected either include or exclude/,
  ],
  [
    'a field name that is none',
    [{ routes: [{ handle: [{ handler: 'copy_response_headers', include: ['a b'] }] }] }],
    /a b/,
  ],
];

for (const [what, entries, message] of REFUSED) {
  test(`${what} is refused with its line`, () => {
    const positions = new Map([
      ['apps', at(1)],
      [`${HANDLER}.handle_response.0`, at(6)],
    ]);
    assert.throws(
      () => compiled(entries, positions),
      (error: Error) => {
        assert.match(error.message, message);
        return /Caddyfile:6$/.test(error.message);
      },
    );
  });
}

test('copying a response outside of handle_response is refused', () => {
  for (const handler of ['copy_response', 'copy_response_headers']) {
    const json = configOf([{ handler }]);
    assert.throws(() => compileJson(json, { positions: new Map([['apps', at(3)]]) }), {
      message: `'${handler}' has no response to copy: write it inside handle_response, at Caddyfile:3`,
    });
  }
});
