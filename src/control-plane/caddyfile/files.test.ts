import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { adaptCaddyfile } from './adapt.ts';
import { localFiles } from './files.ts';

function withFolder(run: (folder: string) => void): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'caddyfile-'));
  try {
    mkdirSync(path.join(folder, 'sites'));
    mkdirSync(path.join(folder, 'sites', 'folder.conf'));
    for (const name of ['b.conf', 'a.conf', '.hidden.conf', 'a.txt']) {
      writeFileSync(path.join(folder, 'sites', name), `http://${name}.test {\n\trespond ${name}\n}\n`);
    }
    run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a glob finds files in order, without hidden ones and folders', () => {
  withFolder((folder) => {
    assert.deepEqual(localFiles().glob(`${folder}/sites/*.conf`), [`${folder}/sites/a.conf`, `${folder}/sites/b.conf`]);
  });
});

test('a glob in a folder that is not there finds nothing', () => {
  withFolder((folder) => assert.deepEqual(localFiles().glob(`${folder}/none/*.conf`), []));
});

test('a wildcard in the name of a folder finds the file in each', () => {
  withFolder((folder) => {
    assert.deepEqual(localFiles().glob(`${folder}/*/a.txt`), [`${folder}/sites/a.txt`]);
  });
});

test('imports are read from the file system, relative to the importing file', () => {
  withFolder((folder) => {
    const filename = path.join(folder, 'Caddyfile');
    const { config } = adaptCaddyfile('import sites/*.conf\n', { filename, env: {} });
    assert.match(JSON.stringify(config), /a\.conf\.test.*b\.conf\.test/);
  });
});
