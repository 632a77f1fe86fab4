import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type AdaptResult, adaptCaddyfile } from '../../src/control-plane/caddyfile/adapt.ts';
import { ConfigError } from '../../src/shared/config-error.ts';

/** A Caddyfile and what it adapts to: JSON, or a part of the error. */
export interface GoldenCase {
  readonly name: string;
  readonly input: string;
  readonly expected: string;
}

const SEPARATOR = '----------';

/** The cases of a folder: a file is one, cut at its first separator. */
export function goldenCases(folder: string): GoldenCase[] {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return names
    .map(({ name }) => {
      const text = readFileSync(path.join(folder, name), 'utf8');
      const cut = text.indexOf(SEPARATOR);
      if (cut === -1) throw new Error(`${name} has no line of ten dashes between Caddyfile and expectation`);
      return { name, input: `${text.slice(0, cut).trim()}\n`, expected: text.slice(cut + SEPARATOR.length).trim() };
    })
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** Imports are looked up in `folder`. */
export function adaptCase({ input }: GoldenCase, folder: string): AdaptResult {
  return adaptCaddyfile(input, {
    filename: 'Caddyfile',
    env: {},
    readFile: (name) => readFileSync(path.join(folder, name), 'utf8'),
  });
}

/** Throws an assertion error where the result is not the expected one. */
export function checkCase(golden: GoldenCase, folder: string): void {
  if (golden.expected.startsWith('{')) {
    assert.deepEqual(adaptCase(golden, folder).config, JSON.parse(golden.expected));
    return;
  }
  assert.throws(
    () => adaptCase(golden, folder),
    (error) => {
      assert.ok(error instanceof ConfigError, `a ConfigError is thrown, not ${String(error)}`);
      assert.ok(error.message.includes(golden.expected), `'${error.message}' contains '${golden.expected}'`);
      return true;
    },
  );
}
