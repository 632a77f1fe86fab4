/** `explain`, `simulate` and `fmt`, as a person runs them. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Explanation } from '../../src/control-plane/explain/explanation.ts';
import type { Simulation } from '../../src/control-plane/explain/simulation.ts';
import { runInProcess } from './in-process.ts';

const SHOP = `{
	auto_https off
	servers {
		trusted_proxies static 10.0.0.0/24
	}
}
http://shop.example:8080 {
	respond /hello "hi" 201
	reverse_proxy app-1:3000 app-2:3000 app-3:3000 {
		lb_policy ip_hash
		header_up X-Tier {env.TIER}
	}
}
`;

async function fileFor(t: TestContext, text: string, name = 'Caddyfile'): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

test('explain walks from the peer to the header lines that go upstream', async (t) => {
  const file = await fileFor(t, SHOP);
  const forwarded = 'X-Forwarded-For: 203.0.113.5, 10.0.0.10';
  const asked = [
    '--peer',
    '10.0.0.2',
    '--header',
    forwarded,
    '--down',
    'app-2:3000',
    'http://shop.example:8080/cart?x=1',
  ];
  const { code, stdout, stderr } = await runInProcess(['explain', '--config', file, ...asked], { TIER: 'web' });
  assert.deepEqual([code, stderr], [0, '']);
  for (const part of [
    'X-Forwarded-For, from the right:\n            10.0.0.10    trusted\n            203.0.113.5  client',
    `${file}:7 host shop.example`,
    'key 203.0.113.5, hash 2099181832',
    '1  app-2:3000  down: as --down says',
    'picked    2  app-3:3000',
    'then      app-1:3000',
    'GET /cart?x=1 HTTP/1.1\n          Host: shop.example:8080\n          X-Forwarded-For: 203.0.113.5, 10.0.0.10, 10.0.0.2',
    'X-Tier: web',
  ]) {
    assert.ok(stdout.includes(part), `${part}\n---\n${stdout}`);
  }
});

test('explain --json tells answers of our own, and that everybody is down', async (t) => {
  const file = await fileFor(t, SHOP);
  const ask = async (...args: readonly string[]): Promise<Explanation> => {
    const { stdout, stderr } = await runInProcess([
      'explain',
      '--config',
      file,
      '--json',
      '--peer',
      '1.2.3.4',
      ...args,
    ]);
    assert.equal(stderr, '');
    return JSON.parse(stdout) as Explanation;
  };
  assert.partialDeepStrictEqual((await ask('http://shop.example:8080/hello')).outcome, {
    kind: 'respond',
    status: 201,
  });
  assert.equal((await ask('http://other.example:8080/')).outcome.kind, 'empty');
  const down = ['app-1:3000', 'app-2:3000', 'app-3:3000'].flatMap((name) => ['--down', name]);
  assert.partialDeepStrictEqual((await ask(...down, 'http://shop.example:8080/')).outcome, { proxy: { picked: null } });
});

test('explain follows an error into the error routes, and says what happens to bodies', async (t) => {
  const config = `{
	auto_https off
}
http://shop.example:8080 {
	encode gzip
	error /gone "no longer here" 410
	handle /form {
		request_body {
			set hello
		}
		reverse_proxy app-1:3000
	}
	reverse_proxy app-1:3000
	handle_errors 410 {
		respond "it is gone: {err.message}"
	}
	handle_errors 503 {
		error "broken twice" 500
	}
}
`;
  const file = await fileFor(t, config);
  const peer = ['--config', file, '--peer', '1.2.3.4', '--header', 'Accept-Encoding: gzip'];
  const gone = await runInProcess(['explain', ...peer, 'http://shop.example:8080/gone']);
  for (const part of [
    'answer    error 410',
    'on error 410',
    'answer    410, by Holdfast itself',
    'it is gone: no longer',
  ]) {
    assert.ok(gone.stdout.includes(part), `${part}\n---\n${gone.stdout}`);
  }
  const ask = async (...args: readonly string[]): Promise<Explanation> => {
    const { stdout } = await runInProcess(['explain', '--json', ...peer, ...args]);
    return JSON.parse(stdout) as Explanation;
  };
  const form = await ask('http://shop.example:8080/form');
  assert.equal(form.onError, null);
  assert.match(form.effects.join(), /5 bytes of the config go upstream.*encode: gzip/);
  assert.equal(form.outcome.kind, 'proxy');
  const nobody = await ask('--down', 'app-1:3000', 'http://shop.example:8080/');
  assert.partialDeepStrictEqual(nobody, {
    outcome: { kind: 'proxy', proxy: { picked: null } },
    onError: { status: 503 },
  });
  assert.equal(nobody.onError?.outcome.kind, 'error');
  assert.partialDeepStrictEqual(nobody.onError.outcome, { status: 500 });
});

test('explain tells members of the config from those that DNS would name', async (t) => {
  const config = `{
	auto_https off
}
http://shop.example:8080 {
	reverse_proxy fallback:3000 {
		dynamic a app.internal 3000
	}
}
`;
  const file = await fileFor(t, config);
  const { stdout } = await runInProcess([
    'explain',
    '--config',
    file,
    '--peer',
    '1.2.3.4',
    '--json',
    'http://shop.example:8080/',
  ]);
  const { outcome } = JSON.parse(stdout) as Explanation;
  assert.ok(outcome.kind === 'proxy');
  assert.deepEqual(
    outcome.proxy.members.map(({ upstream, found }) => [upstream, found]),
    [['fallback:3000', false]],
  );
});

test('explain shows the server that a request names', async (t) => {
  const config = `{
	auto_https off
}
http://shop.example:8080 {
	reverse_proxy {header.X-Up}
}
`;
  const file = await fileFor(t, config);
  const ask = async (up: string): Promise<Explanation> => {
    const args = ['--peer', '1.2.3.4', '--json', '--header', `X-Up: ${up}`, 'http://shop.example:8080/'];
    return JSON.parse((await runInProcess(['explain', '--config', file, ...args])).stdout) as Explanation;
  };
  assert.partialDeepStrictEqual((await ask('10.0.0.9:81')).outcome, {
    kind: 'proxy',
    proxy: { endpoint: '10.0.0.9:81', picked: { upstream: '10.0.0.9:81' } },
  });
  assert.partialDeepStrictEqual((await ask(':81')).outcome, { kind: 'error', status: 502 });
});

test('explain and simulate refuse what makes no sense with exit code and reason', async (t) => {
  const file = await fileFor(t, SHOP);
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['explain', '--config', file, 'http://x/'], 2, /--peer/],
    [['explain', '--config', file, '--peer', 'me', 'http://x/'], 1, /not an IP address/],
    [['explain', '--config', file, '--peer', '1.2.3.4', '--header', 'x', 'http://x/'], 2, /no header line/],
    [['explain', '--config', file, '--peer', '1.2.3.4', '--down', 'app-9', 'http://x/'], 2, /no such upstream/],
    [['simulate', '--config', file, '--clients', '0'], 2, /--clients must be/],
    [['simulate', '--config', file, '--addresses', join(file, 'x')], 1, /cannot read/],
  ];
  for (const [args, expected, message] of cases) {
    const { code, stderr } = await runInProcess(args);
    assert.equal(code, expected, args.join(' '));
    assert.match(stderr, message);
  }
});

test('simulate shows shares, whom a failure moves, and what makes an even pool uneven', async (t) => {
  const file = await fileFor(t, SHOP.replace(' app-3:3000', ''));
  const run = async (...args: readonly string[]): Promise<Simulation> => {
    const { stdout, stderr } = await runInProcess(['simulate', '--config', file, '--json', ...args]);
    assert.ok(!stderr.includes('holdfast:'), stderr);
    return (JSON.parse(stdout) as Simulation[])[0]!;
  };
  const whole = await run('--clients', '2000');
  assert.equal(
    whole.members.reduce((sum, { clients }) => sum + clients, 0),
    2000,
  );
  for (const { clients, failure } of whole.members) {
    assert.ok(Math.abs(clients / 2000 - 0.5) < 0.05);
    assert.deepEqual(failure, { own: clients, others: 0, lost: 0 });
  }
  assert.deepEqual(whole.advice[0]?.lines, ['lb_policy ip_hash {', '\tmapping rendezvous', '}']);
  const alone = await run('--clients', '500', '--down', 'app-1:3000');
  assert.deepEqual(alone.members[1]?.failure, { own: 0, others: 0, lost: 500 });
  const addresses = await fileFor(t, '192.0.2.9\n192.0.2.9\n192.0.2.9\n203.0.113.5\n', 'addresses');
  const crowd = await run('--addresses', addresses);
  assert.match(crowd.advice[0]?.what ?? '', /75 % of the requests come from 192\.0\.2\.9/);
  assert.deepEqual(crowd.advice[0]?.lines, ['servers {', '\ttrusted_proxies static 192.0.2.9', '}']);
});

test('fmt prints the standard layout, and writes it with --overwrite', async (t) => {
  const messy = ':80   {\nrespond "x"\n}\n';
  const tidy = ':80 {\n\trespond "x"\n}\n';
  const file = await fileFor(t, messy);
  const printed = await runInProcess(['fmt', file]);
  assert.deepEqual([printed.code, printed.stdout], [0, tidy]);
  assert.equal(await readFile(file, 'utf8'), messy);
  const written = await runInProcess(['fmt', '--overwrite', file]);
  assert.deepEqual([written.code, written.stdout], [0, '']);
  assert.equal(await readFile(file, 'utf8'), tidy);
  const broken = await fileFor(t, ':80 {\nrespond "x\n}\n');
  const refused = await runInProcess(['fmt', '--overwrite', broken]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /Caddyfile:2/);
});

test('explain shows the request line that rewrite and method of reverse_proxy make', async (t) => {
  const body = 'reverse_proxy 127.0.0.1:1 {\nmethod POST\nrewrite /in{path}\n}';
  const file = await fileFor(t, `{\n\tauto_https off\n}\nhttp://:8080 {\n${body}\n}\n`);
  const { code, stdout } = await runInProcess(
    ['explain', '--config', file, '--peer', '10.0.0.2', 'http://a:8080/x'],
    {},
  );
  assert.equal(code, 0);
  assert.ok(stdout.includes('POST /in/x HTTP/1.1'), stdout);
});

const VAULT = `http://vault.example:8080 {
	basic_auth {
		ann $2b$04$B1Y1/jf0ytrjOd9aA1v0cuvNJcpSAs0zTutBN.QOwce6JC1.CaF36
	}
	metrics /metrics
	respond / "in"
}
`;

test('explain checks no password and says what it takes for granted', async (t) => {
  const file = await fileFor(t, VAULT);
  const ask = async (user: string, path = '/'): Promise<string> => {
    const header = `Authorization: Basic ${Buffer.from(`${user}:whatever`).toString('base64')}`;
    const args = ['--config', file, '--peer', '192.0.2.1', '--header', header, `http://vault.example:8080${path}`];
    return (await runInProcess(['explain', ...args])).stdout;
  };
  const known = await ask('ann');
  assert.match(known, /assumed {3}basic_auth: the password of "ann" is right\n/);
  assert.match(known, /answer {4}200, by Holdfast itself/);
  const unknown = await ask('bob');
  assert.match(unknown, /assumed {3}basic_auth: there is no account "bob"\n/);
  assert.match(unknown, /answer {4}error 401/);
  assert.match(await ask('ann', '/metrics'), /answer {4}200, the metrics of the process/);
});

test('explain shows the 401 of a request without a password', async (t) => {
  const file = await fileFor(t, VAULT);
  const args = ['--config', file, '--peer', '192.0.2.1', 'http://vault.example:8080/'];
  const { stdout } = await runInProcess(['explain', ...args]);
  assert.match(stdout, /error 401/);
  assert.doesNotMatch(stdout, /assumed/);
});
