/** `encode`: from config to plan. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, compileJson, configOf, type Json } from '../../../test/support/config-fixtures.ts';
import type { EncodePlan } from '../../shared/plan/types.ts';

const HANDLER = 'apps.http.servers.srv0.routes.0.handle.0';
const config = (fields: Json): Json => configOf([{ handler: 'encode', ...fields }]);

function planOf(fields: Json): EncodePlan {
  for (const section of compileJson(config(fields)).compiled.sections.values()) {
    if (section.kind !== 'site') continue;
    const [handler] = section.route.handle;
    if (handler?.handler === 'encode') return handler;
  }
  throw new Error('no encode');
}

test('formats come in order of preference, those that are not preferred behind, each with its level', () => {
  const encodings = { br: {}, gzip: { level: 9 }, zstd: { level: 'best' } };
  assert.deepEqual(planOf({ encodings, prefer: ['br'] }).formats, [
    { name: 'br', level: 4 },
    { name: 'zstd', level: 11 },
    { name: 'gzip', level: 9 },
  ]);
});

test('without a match what is text is encoded, from half a KiB on', () => {
  const { match, minBytes } = planOf({ encodings: { gzip: {} } });
  assert.equal(minBytes, 512);
  assert.ok(match.headers['Content-Type']?.includes('text/*'));
  const own = planOf({ encodings: { gzip: {} }, match: { status_code: [2] }, minimum_length: 0 });
  assert.deepEqual([own.match, own.minBytes], [{ status: [2], headers: {} }, 0]);
});

test('faults name what is wrong and where', () => {
  const positions = new Map([
    [HANDLER, at(3)],
    [`${HANDLER}.encodings`, at(4)],
    [`${HANDLER}.prefer`, at(5)],
  ]);
  for (const [fields, message] of [
    [{}, /^'encode' names no format: write gzip, zstd or br, at Caddyfile:3$/],
    [{ encodings: { deflate: {} } }, /unknown field 'deflate'.*, at Caddyfile:4$/],
    [
      { encodings: { zstd: { level: 3 } } },
      /level: expected 'fastest', 'default', 'better' or 'best', found 3, at Caddyfile:4$/,
    ],
    [{ encodings: { gzip: {} }, prefer: ['zstd'] }, /'zstd' is preferred but not among the encodings, at Caddyfile:5$/],
    [{ encodings: { gzip: {} }, prefer: ['gzip', 'gzip'] }, /'gzip' is preferred twice, at Caddyfile:5$/],
  ] as const) {
    assert.throws(() => compileJson(config(fields), { positions }), { message });
  }
});
