import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Manifest {
  readonly engines?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function manifest(path: string): Manifest {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Manifest;
}

test('the tests run on the Node.js that the workspace pins, not on the one of the system', () => {
  const pins = new Set(Object.values(manifest('../../tools/node/package.json').optionalDependencies ?? {}));
  assert.deepEqual(
    [...pins].map((version) => `v${version}`),
    [process.version],
  );
});

test('the package asks for the first Node.js that hands listening servers to threads', () => {
  assert.equal(manifest('../../package.json').engines?.['node'], '>=24.21');
});
