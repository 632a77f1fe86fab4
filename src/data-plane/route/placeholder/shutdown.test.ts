import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestView } from '../request-view.ts';
import { shutdownPlaceholder } from './shutdown.ts';

const REQUEST = { wallMs: 1_000_000 } as RequestView;

function read(name: string, leftMs: number | null): string | undefined {
  const facts = { atMs: leftMs === null ? null : REQUEST.wallMs + leftMs };
  return shutdownPlaceholder(name, facts)!.read(REQUEST);
}

test('shutting_down says whether the end is announced', () => {
  assert.equal(read('http.shutting_down', null), 'false');
  assert.equal(read('http.shutting_down', 10), 'true');
  assert.equal(shutdownPlaceholder('http.shutting_down')!.read(REQUEST), 'false', 'outside of a worker');
});

test('time_until_shutdown is written as Go does', () => {
  const texts: readonly (readonly [leftMs: number | null, text: string])[] = [
    [null, ''],
    [-5, '0s'],
    [0, '0s'],
    [0.2, '0s'],
    [250, '250ms'],
    [4987.4, '4.987s'],
    [5000, '5s'],
    [64_500, '1m4.5s'],
    [3_605_000, '1h0m5s'],
  ];
  for (const [leftMs, text] of texts) assert.equal(read('http.time_until_shutdown', leftMs), text, `${leftMs}`);
});

test('a name of somebody else', () => assert.equal(shutdownPlaceholder('http.request.host'), null));
