/** `explain` and `simulate` for layer 4, as a person runs them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { FlowExplanation } from '../../src/control-plane/explain/explanation.ts';
import { runInProcess } from './in-process.ts';

const CONFIG = `{
	auto_https off
	layer4 {
		:443 {
			@mail tls sni mail.example.com
			route @mail {
				proxy mail-1:443 mail-2:443 mail-3:443 {
					lb_policy source_hash
				}
			}
			@ssh ssh
			route @ssh {
				close
			}
		}
		udp/:53 {
			route {
				proxy udp/ns-1:53 udp/ns-2:53 {
					lb_policy tuple_hash
					best_effort off
				}
			}
		}
	}
}
`;

async function fileFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'Caddyfile');
  await writeFile(file, CONFIG);
  return file;
}

test('explain tells the route, the key and the server of a connection', async (t) => {
  const file = await fileFor(t);
  const asked = ['--peer', '203.0.113.5', '--sni', 'mail.example.com', 'tcp/:443'];
  const { code, stdout, stderr } = await runInProcess(['explain', '--config', file, ...asked]);
  assert.deepEqual([code, stderr], [0, '']);
  for (const part of [
    'tcp/:443\n',
    `route     ${file}:6 tls mail.example.com: takes it`,
    'key 203.0.113.5, hash 2099181832',
    'of 65537 belongs to upstream',
    'picked    ',
  ]) {
    assert.ok(stdout.includes(part), `${part}\n---\n${stdout}`);
  }
});

test('explain tells of bytes that were not given, and of connections that nobody takes', async (t) => {
  const file = await fileFor(t);
  const explain = async (...args: readonly string[]): Promise<string> =>
    (await runInProcess(['explain', '--config', file, '--peer', '203.0.113.5:4000', ...args])).stdout;
  const silent = await explain('tcp/:443');
  assert.match(silent, /ssh: does not hold/);
  assert.match(silent, /assumed {3}the client says nothing until matching_timeout/);
  assert.match(silent, /none: no route takes the connection/);
  assert.match(await explain('--first-bytes', '5353482d322e300d0a', 'tcp/:443'), /none: the connection is closed/);
  const down = await explain('--down', 'udp/ns-1:53', '--down', 'udp/ns-2:53', 'udp/:53');
  assert.match(down, /picked {4}none: the datagram is dropped/);
});

test('explain --json is what POST /explain says', async (t) => {
  const file = await fileFor(t);
  const { stdout } = await runInProcess(['explain', '--config', file, '--json', '--peer', '::1', 'udp/:53']);
  const { flow, client, outcome } = JSON.parse(stdout) as FlowExplanation;
  assert.deepEqual([flow.network, client.address, outcome.kind], ['udp', '::1', 'proxy']);
});

test('options that mean something for the other layer only are usage errors', async (t) => {
  const file = await fileFor(t);
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['--header', 'a: b', 'tcp/:443'], 2, /--header and --method are for requests/],
    [['--method', 'PUT', 'tcp/:443'], 2, /--header and --method are for requests/],
    [['--sni', 'x', 'http://x/'], 2, /--sni is for tcp/],
    [['--first-bytes', '00', 'http://x/'], 2, /--first-bytes is for tcp/],
    [['--first-bytes', 'xyz', 'tcp/:443'], 1, /hexadecimal/],
    [['tcp/:80'], 1, /no layer4 server listens on tcp\/:80: there is tcp\/:443/],
  ];
  for (const [args, code, message] of cases) {
    const answer = await runInProcess(['explain', '--config', file, '--peer', '203.0.113.5', ...args]);
    assert.equal(answer.code, code, answer.stderr);
    assert.match(answer.stderr, message);
  }
});

test('simulate shows what the failure of a server moves', async (t) => {
  const { stdout } = await runInProcess(['simulate', '--config', await fileFor(t), '--clients', '600']);
  assert.match(stdout, /source_hash over 3 upstreams, 600 clients\neach client has its server/);
  assert.match(stdout, /tuple_hash over 2 upstreams, 600 clients\nno client has a server of its own/);
  assert.equal(stdout.match(/ move, nobody else/g)?.length, 5);
});
