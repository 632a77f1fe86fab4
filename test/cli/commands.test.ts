import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test, type TestContext } from 'node:test';
import { runInProcess } from './in-process.ts';
import { runHoldfast } from './spawn.ts';

async function makeFolder(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const GOOD = `http://:0 {
	bind 127.0.0.1
	reverse_proxy 127.0.0.1:9001 127.0.0.1:9002 {
		lb_policy ip_hash
	}
}
`;
const BAD = 'http://:0 {\n\tno_such_thing\n}\n';

const HASHES: readonly (readonly [ip: string, upstreams: number, hash: number, index: number])[] = [
  ['203.0.113.5', 3, 2099181832, 1],
  ['198.51.100.12', 3, 435720198, 0],
  ['103.10.20.30', 3, 2500805450, 2],
  ['103.20.10.15', 3, 862496449, 1],
  ['103.20.10.22', 3, 443055974, 2],
  ['2001:db8:85a3:8d3:1319:8a2e:370:7348', 3, 3471129506, 2],
  ['203.0.113.5', 5, 2099181832, 2],
];

for (const [ip, upstreams, hash, index] of HASHES) {
  test(`hash ${ip} over ${upstreams} upstreams is ${hash}, index ${index}`, async () => {
    const { code, stdout } = await runInProcess(['hash', ip, '--upstreams', String(upstreams), '--json']);
    assert.equal(code, 0);
    const table = JSON.parse(stdout);
    assert.deepEqual(Object.keys(table), ['address', 'key', 'steps', 'hash', 'upstreams', 'index']);
    assert.deepEqual([table.address, table.hash, table.upstreams, table.index], [ip, hash, upstreams, index]);
    assert.equal(table.steps.at(-1).product, hash);
  });
}

test('hash prints an aligned table for people', async () => {
  const { stdout } = await runInProcess(['hash', '203.0.113.5']);
  const lines = stdout.split('\n');
  const head = lines.findIndex((line) => line.includes('after xor'));
  const rows = lines.slice(head, head + 5);
  assert.deepEqual(new Set(rows.map((row) => row.length)).size, 1);
  assert.deepEqual(
    rows.slice(1).map((row) => Number(row.trim().split(/\s+/)[0])),
    [203, 0, 113, 5],
  );
  assert.match(stdout, /2099181832 mod 3 = 1/);
});

test('hash shows the mask of an IPv6 address', async () => {
  const { stdout } = await runInProcess(['hash', '2001:db8:85a3:8d3:1319:8a2e:370:7348']);
  assert.match(stdout, /2001:db8:85a3:8d3::\/64/);
});

test('hash of junk fails with one line and exit code 1', async () => {
  for (const junk of ['300.1.1.1', 'localhost', '1.2.3', '']) {
    const { code, stdout, stderr } = await runInProcess(['hash', junk]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^holdfast: .*is not an IP address\n$/);
  }
});

const QUICKSTART = fileURLToPath(new URL('../../examples/quickstart/Caddyfile', import.meta.url));

const BAD_USAGE: readonly (readonly string[])[] = [
  [],
  ['no-such-command'],
  ['hash'],
  ['hash', '1.2.3.4', '--upstreams', '0'],
  ['hash', '1.2.3.4', '--no-such-option'],
  ['hash', '1.2.3.4', '5.6.7.8'],
  ['run', '--workers', 'many', '--config', QUICKSTART],
  ['adapt', '--adapter', 'yaml', '--config', QUICKSTART],
  ['stop', '--address', 'http://'],
];

for (const args of BAD_USAGE) {
  test(`bad usage is exit code 2: holdfast ${args.join(' ')}`, async () => {
    const { code, stderr } = await runInProcess(args);
    assert.equal(code, 2, stderr);
    assert.notEqual(stderr, '');
    assert.doesNotMatch(stderr, /\n\s+at /);
  });
}

test('help and version are exit code 0', async () => {
  assert.match((await runInProcess(['--help'])).stdout, /run .*\n[^]*reload/);
  for (const args of [['version'], ['--version']]) {
    const { code, stdout } = await runInProcess(args);
    assert.equal(code, 0);
    assert.match(stdout, /^v\d+\.\d+\.\d+/);
  }
});

test('adapt prints the JSON of a Caddyfile, indented when asked', async (t) => {
  const file = join(await makeFolder(t, { Caddyfile: GOOD }), 'Caddyfile');
  const { code, stdout } = await runInProcess(['adapt', '--config', file]);
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout).apps.http.servers.srv0.listen, ['127.0.0.1:0']);
  const pretty = await runInProcess(['adapt', '--pretty', '--config', file]);
  assert.ok(pretty.stdout.split('\n').length > 5);
  assert.deepEqual(JSON.parse(pretty.stdout), JSON.parse(stdout));
});

for (const command of ['adapt', 'validate', 'run', 'reload']) {
  test(`${command} tells file and line of a fault, in one line, with exit code 1`, async (t) => {
    const file = join(await makeFolder(t, { 'my.conf': BAD }), 'my.conf');
    const { code, stdout, stderr } = await runInProcess([command, '--config', file]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr.trimEnd().split('\n').at(-1) ?? '', /^holdfast: .*my\.conf:2: .*no_such_thing/);
    assert.doesNotMatch(stderr, /\n\s+at /);
  });

  test(`${command} tells that the config file does not exist`, async () => {
    const missing = await runInProcess([command, '--config', '/nowhere/none.conf']);
    assert.deepEqual(missing, {
      code: 1,
      stdout: '',
      stderr: 'holdfast: config file /nowhere/none.conf does not exist\n',
    });
  });
}

test('HOLDFAST_DEBUG shows the stack of a failure', async () => {
  const { stderr } = await runInProcess(['adapt', '--config', '/nowhere/none.conf'], { HOLDFAST_DEBUG: '1' });
  assert.match(stderr, /\n\s+at /);
});

test('the launcher passes on output and exit code, and Caddyfile is the default config', async (t) => {
  const cwd = await makeFolder(t, {});
  const absent = await runHoldfast(['adapt'], { cwd });
  assert.deepEqual([absent.code, absent.stdout], [1, '']);
  assert.match(absent.stderr, /^holdfast: no Caddyfile in this folder.*--config\n$/);
  await writeFile(join(cwd, 'Caddyfile'), GOOD);
  const found = await runHoldfast(['adapt'], { cwd });
  assert.equal(found.code, 0);
  assert.match(JSON.parse(found.stdout).apps.http.servers.srv0.listen[0], /:0$/);
});

test('validate accepts a good config and prints its warnings', async (t) => {
  const file = join(await makeFolder(t, { Caddyfile: GOOD }), 'Caddyfile');
  const { code, stdout, stderr } = await runInProcess(['validate', '--config', file]);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, `${file} is valid\n`);
  assert.match(stderr, /^warning: \S+Caddyfile:\d+: /m);
});

test('the quickstart config is valid and without warnings', async () => {
  const { code, stderr } = await runInProcess(['validate', '--config', QUICKSTART]);
  assert.deepEqual([code, stderr], [0, '']);
});

test('validate reads JSON by the file name', async (t) => {
  const folder = await makeFolder(t, {
    'config.json': '{"apps":{"http":{"servers":{}}}}',
    'bad.json': '{"nonsense":1}',
  });
  const good = await runInProcess(['validate', '--config', join(folder, 'config.json')]);
  assert.equal(good.code, 0, good.stderr);
  const bad = await runInProcess(['validate', '--config', join(folder, 'bad.json')]);
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /nonsense/);
});

test('reload and stop tell that nobody answers at the admin address', async (t) => {
  const file = join(await makeFolder(t, { Caddyfile: GOOD }), 'Caddyfile');
  const address = `127.0.0.1:${await closedPort()}`;
  for (const command of [['reload', '--config', file], ['stop']]) {
    const { code, stderr } = await runInProcess([...command, '--address', address]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(
        `^holdfast: no admin API at ${address} .*is holdfast running there\\? --address names another one$`,
        'm',
      ),
    );
  }
});
