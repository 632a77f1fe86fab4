/** Caddy and Holdfast show clients and servers the same, apart from what docs/caddy-differences.md says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unlessInstalled } from '../support/program.ts';
import { readDoc } from '../docs/markdown.ts';
import { CADDY, startBoth, type Seen } from './both.ts';
import { CASES } from './cases.ts';
import { DIFFERENCES } from './differences.ts';

/** Lines of `lines` that have no equal in `others`; a line that stands there once excuses one. */
function without(lines: Seen, others: Seen): string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

test('every difference is one that the page tells', () => {
  const page = readDoc('docs/caddy-differences.md').replaceAll(/\s+/g, ' ');
  for (const { documented } of DIFFERENCES) assert.ok(page.includes(documented), documented);
});

test('both show the same', { skip: unlessInstalled(CADDY, 'caddy') }, async (t) => {
  const both = await startBoth(t);
  const met = new Set<string>();
  const unexplained = (lines: readonly string[], side: 'caddy' | 'holdfast'): string[] =>
    lines.filter((line) => {
      const known = DIFFERENCES.find((difference) => difference[side]?.test(line));
      if (known !== undefined) met.add(known.documented);
      return known === undefined;
    });
  for (const { name, site, globals = '', requests } of CASES) {
    await t.test(name, async () => {
      await both.load(site, globals);
      const found: object[] = [];
      for (const request of requests) {
        const caddy = await both.caddy(request);
        const holdfast = await both.holdfast(request);
        const onlyCaddy = unexplained(without(caddy, holdfast), 'caddy');
        const onlyHoldfast = unexplained(without(holdfast, caddy), 'holdfast');
        if (onlyCaddy.length + onlyHoldfast.length > 0) found.push({ request, onlyCaddy, onlyHoldfast });
      }
      assert.deepEqual(found, []);
    });
  }
  await t.test('every difference that the list allows was met', () => {
    assert.deepEqual(
      DIFFERENCES.map(({ documented }) => documented).filter((words) => !met.has(words)),
      [],
    );
  });
});
