/** `trust`: the root of the local authority, shown, put into a system's store and taken out again. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readRoot } from '../../src/cli/trust/root-certificate.ts';
import { installRoot, removeRoot, type SystemStore } from '../../src/cli/trust/system-store.ts';
import { startBalancer } from '../support/balance.ts';
import { TestAuthority } from '../support/certificates.ts';
import { findProgram, unlessInstalled } from '../support/program.ts';
import { runInProcess } from './in-process.ts';

const CURL = findProgram('curl');

/** A site with a name of this machine: its authority is made when it starts. */
const SITE =
  '{\n\tadmin off\n\tauto_https disable_redirects\n}\nhttps://localhost:0 {\n\tbind 127.0.0.1\n\trespond ok\n}\n';

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-trust-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A store like Debian's, in a folder of the test, with one other authority in it. */
async function makeStore(t: TestContext): Promise<{ readonly store: SystemStore; readonly bundle: string }> {
  const folder = temporary(t);
  const [local, etc, system, hooks] = ['local', 'etc', 'system', 'hooks'].map((name) => join(folder, name));
  for (const made of [local!, etc!, system!, hooks!]) mkdirSync(made);
  const conf = join(folder, 'conf');
  writeFileSync(conf, '');
  writeFileSync(join(local!, 'other.crt'), (await TestAuthority.create(t, 'Other')).root.certificate);
  const folders = ['--localcertsdir', local!, '--etccertsdir', etc!, '--certsdir', system!, '--hooksdir', hooks!];
  return {
    store: { folder: local!, args: ['--certsconf', conf, ...folders] },
    bundle: join(etc!, 'ca-certificates.crt'),
  };
}

test('before a config with a local name ran there is no root, and trust says how it comes to be', async (t) => {
  const result = await runInProcess(['trust'], { XDG_DATA_HOME: temporary(t) });
  assert.equal(result.code, 1);
  assert.match(result.stderr, /root\.crt: it is made when a config with a local name/);
});

test('trust shows the root; an authority that is no name, and both switches, are refused', async (t) => {
  const data = temporary(t);
  await startBalancer(t, SITE, { dataDir: join(data, 'holdfast') });
  const env = { XDG_DATA_HOME: data };
  const shown = await runInProcess(['trust'], env);
  assert.equal(shown.code, 0);
  assert.match(
    shown.stdout,
    /^root {9}.*root\.crt\nsubject .*Root\nsha256 +(?:[0-9A-F]{2}:){31}[0-9A-F]{2}\nvalid until /,
  );
  assert.equal((await runInProcess(['trust', '--ca', '../x'], env)).code, 2);
  assert.equal((await runInProcess(['trust', '--install', '--uninstall'], env)).code, 2);
});

test(
  'an installed root is trusted by the programs of the system, and no longer once it is taken out',
  { skip: unlessInstalled(CURL, 'curl') || unlessInstalled(findProgram('update-ca-certificates'), 'ca-certificates') },
  async (t) => {
    const data = temporary(t);
    const { port } = await startBalancer(t, SITE, { dataDir: data });
    const root = readRoot(data, 'local');
    const { store, bundle } = await makeStore(t);
    const curl = (): string =>
      execFileSync(CURL!, ['-sS', '--max-time', '10', '-4', '--cacert', bundle, `https://localhost:${port}/`], {
        encoding: 'utf8',
        stdio: 'pipe',
      });

    assert.match(installRoot(root, store), /^installed +.*holdfast-local\.crt/);
    assert.equal(readFileSync(join(store.folder, 'holdfast-local.crt'), 'utf8'), root.pem);
    assert.equal(curl(), 'ok');
    // Twice is no fault.
    installRoot(root, store);
    assert.match(removeRoot(root, store), /^removed/);
    assert.equal(existsSync(join(store.folder, 'holdfast-local.crt')), false);
    assert.throws(curl, /certificate/);
    assert.deepEqual(
      readdirSync(join(bundle, '..')).filter((name) => name.startsWith('holdfast')),
      [],
    );
    removeRoot(root, store);
  },
);

test('a store that cannot be written is told with what to do', async (t) => {
  if (findProgram('update-ca-certificates') === undefined) return t.skip('ca-certificates is not installed');
  const data = temporary(t);
  await startBalancer(t, SITE, { dataDir: data });
  const store = { folder: join(data, 'nowhere'), args: [] };
  assert.throws(() => installRoot(readRoot(data, 'local'), store), /ENOENT.*run it as root/);
});
