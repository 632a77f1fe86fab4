import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../../../shared/config-error.ts';
import { adaptCaddyfile } from '../../caddyfile/adapt.ts';
import { readConfig } from '../../config/from-json.ts';
import { compileConfig } from '../compile.ts';
import type { CheckSpec, ConfigWarning } from '../compiled.ts';

interface Compiled {
  readonly check: CheckSpec | null;
  readonly warnings: readonly ConfigWarning[];
}

/** Compiles one pool; the `health` line is line 3 of its file. */
function compile(block: string, { upstreams = 'a:1 b:2', more = '', ping = true } = {}): Compiled {
  const text = `http://:80 {\n\treverse_proxy ${upstreams} {\n${block}\n${more}\n\t}\n}\n`;
  const { config, positions } = adaptCaddyfile(text, { filename: 'Caddyfile', env: {}, readFile: () => '' });
  const { compiled, warnings } = compileConfig(readConfig(config, positions), {
    positions,
    generatedSecret: () => '',
    platform: 'linux',
    hasProgram: () => ping,
  });
  return { check: compiled.pools[0]?.check ?? null, warnings };
}

function refusal(block: string, given: Parameters<typeof compile>[1] = {}): string {
  try {
    compile(block, given);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  return 'not refused';
}

test('a block without options has the defaults of a network load balancer', () => {
  const { check, warnings } = compile('health tcp');
  assert.deepEqual(check, {
    hash: check?.hash,
    probe: { kind: 'tcp', close: 'reset', script: [], tls: null },
    address: null,
    port: null,
    intervalMs: 5000,
    timeoutMs: 5000,
    rise: 2,
    fall: 2,
    initial: null,
  });
  assert.deepEqual(warnings, []);
});

test('every common option reaches the check', () => {
  const lines = [
    'health tcp {',
    ...['interval 500ms', 'timeout 2s', 'rise 3', 'fall 1', 'port 25', 'address 10.0.0.9', 'source 127.0.0.5'],
    ...[
      'jitter 20%',
      'max_rtt 250ms',
      'initial down',
      'proxy_protocol v1',
      'burst 5',
      'max_loss 20%',
      'max_jitter 40ms',
    ],
    '}',
  ];
  const { hash: _hash, probe: _probe, ...common } = compile(lines.join('\n')).check!;
  assert.deepEqual(common, {
    address: { host: '10.0.0.9', port: null },
    port: 25,
    intervalMs: 500,
    timeoutMs: 2000,
    rise: 3,
    fall: 1,
    initial: 'down',
    localAddress: '127.0.0.5',
    proxyProtocol: 'v1',
    jitter: 0.2,
    maxRttMs: 250,
    burst: { count: 5, maxLoss: 0.2, maxJitterMs: 40 },
  });
});

test('a script keeps its order, its escapes become bytes', () => {
  const { check } = compile(
    'health tcp {\nexpect "220 "\nsend "QUIT\\r\\n"\nexpect_regex ^221\nclose fin\ntls\ninsecure\n}',
  );
  assert.deepEqual(check?.probe, {
    kind: 'tcp',
    close: 'fin',
    script: [
      { step: 'expect', bytes: '220 ' },
      { step: 'send', bytes: 'QUIT\r\n' },
      { step: 'expect_regex', pattern: '^221' },
    ],
    tls: { serverName: '', insecure: true },
  });
});

test('health http: without a domain there is no Host, $SERVER_IP is the address, a name is also that of TLS', () => {
  const host = (lines: string): unknown => {
    const probe = compile(`health http {\n${lines}\n}`).check?.probe;
    return probe?.kind === 'http' ? [probe.version, probe.host, probe.tls?.serverName, probe.statuses] : null;
  };
  assert.deepEqual(host(''), ['1.0', 'none', undefined, [2]]);
  assert.deepEqual(host('version 1.1\ndomain $SERVER_IP\nstatus 2xx 3xx 404'), [
    '1.1',
    'address',
    undefined,
    [2, 3, 404],
  ]);
  assert.deepEqual(host('domain shop.test\ntls'), ['1.0', { name: 'shop.test' }, 'shop.test', [2]]);
});

test('the other probes become what they say', () => {
  const kinds: readonly (readonly [string, unknown])[] = [
    ['health udp {\necho off\n}', { kind: 'udp', echo: false, payload: 'holdfast-health', expect: null }],
    [
      'health udp {\nsend hex:00\nexpect \\x01\n}',
      { kind: 'udp', echo: false, payload: '\0', expect: { step: 'expect', bytes: '\x01' } },
    ],
    ['health grpc {\nservice shop\n}', { kind: 'grpc', service: 'shop', tls: null }],
    ['health dns', { kind: 'dns', name: '', type: 'A', alive: false }],
    [
      'health dns {\nname example.com.\ntype txt\nalive\n}',
      { kind: 'dns', name: 'example.com', type: 'TXT', alive: true },
    ],
    ['health smtp {\nehlo lb.test\n}', { kind: 'smtp', ehlo: 'lb.test' }],
    ['health ssh', { kind: 'ssh' }],
    ['health redis {\nstrict\n}', { kind: 'redis', strict: true }],
    ['health mqtt {\nversion 5\n}', { kind: 'mqtt', version: 5 }],
    ['health quic', { kind: 'quic' }],
  ];
  for (const [block, probe] of kinds) assert.deepEqual(compile(block).check?.probe, probe, block);
});

test('a check of the port of the service speaks as traffic does, unless told otherwise', () => {
  const more = 'transport http {\nproxy_protocol v2\nlocal_address 127.0.0.7\n}';
  const of = (block: string): unknown[] => {
    const { check } = compile(block, { more, upstreams: '10.0.0.1:1' });
    return [check?.proxyProtocol, check?.localAddress];
  };
  assert.deepEqual(of('health tcp'), ['v2', '127.0.0.7']);
  assert.deepEqual(of('health tcp {\nport 81\n}'), [undefined, '127.0.0.7']);
  assert.deepEqual(of('health tcp {\nproxy_protocol off\nsource 127.0.0.8\n}'), [undefined, '127.0.0.8']);
  assert.deepEqual(of('health tcp {\naddress 10.0.0.9:1\n}'), [undefined, undefined]);
});

/** [lines of the block, what the message says, where]. */
const RANGES: readonly (readonly [string, RegExp])[] = [
  ['health tcp {\ninterval 50ms\n}', /expected a duration from 100ms to 5m .*, at Caddyfile:4$/],
  ['health tcp {\ninterval 301s\n}', /expected a duration from 100ms to 5m .*, at Caddyfile:4$/],
  ['health tcp {\ntimeout 0s\n}', /expected a duration from 1ms to 5m .*, at Caddyfile:4$/],
  ['health tcp {\nrise 0\n}', /rise: expected a whole number from 1 to 10.*, at Caddyfile:4$/],
  ['health tcp {\nfall 11\n}', /fall: expected a whole number from 1 to 10.*, at Caddyfile:4$/],
  ['health tcp {\nport 0\n}', /port: expected a whole number from 1 to 65535.*, at Caddyfile:4$/],
  ['health tcp {\naddress a:0\n}', /address: expected a name or an IP address.*, at Caddyfile:4$/],
  ['health tcp {\nsource eth0\n}', /source: expected an IP address of this machine.*, at Caddyfile:4$/],
  ['health tcp {\njitter 60%\n}', /jitter: expected a share from 0 to 0.5.*, at Caddyfile:4$/],
  ['health tcp {\nburst 1\n}', /burst: expected a whole number from 2 to 50.*, at Caddyfile:4$/],
  ['health tcp {\ninitial maybe\n}', /initial: expected 'up' or 'down'.*, at Caddyfile:4$/],
  ['health tcp {\nproxy_protocol v3\n}', /proxy_protocol: expected 'v1', 'v2' or 'off'.*, at Caddyfile:4$/],
  ['health tcp {\nclose now\n}', /close: expected 'reset' or 'fin'.*, at Caddyfile:4$/],
  ['health tcp {\nsend "\\q"\n}', /send: expected 1 to 1024 bytes as text .*, found "\\\\q", at Caddyfile:4$/],
  ['health tcp {\nsend hi\nexpect hex:1\n}', /expect: expected 1 to 1024 bytes .*, found "hex:1", at Caddyfile:5$/],
  [
    'health tcp {\nexpect_regex (\n}',
    /expect_regex: expected a regular expression .*missing closing.*, at Caddyfile:4$/,
  ],
  ['health udp {\nsend hex:0\n}', /send: expected 1 to 1024 bytes.*, at Caddyfile:4$/],
  ['health http {\nmethod POST\n}', /method: expected 'GET' or 'HEAD'.*, at Caddyfile:4$/],
  ['health http {\nversion 2\n}', /version: expected '1.0' or '1.1'.*, at Caddyfile:4$/],
  ['health http {\npath healthz\n}', /path: expected a path beginning with \/.*, at Caddyfile:4$/],
  ['health http {\nstatus 600\n}', /status.*, at Caddyfile:4$/],
  ['health dns {\nname a..b\n}', /name: expected a domain name.*, at Caddyfile:4$/],
  ['health dns {\ntype HINFO\n}', /type: expected 'A', 'NS'.*, at Caddyfile:4$/],
  ['health smtp {\nehlo "a b"\n}', /ehlo: expected a host name.*, at Caddyfile:4$/],
  ['health mqtt {\nversion 4\n}', /version: expected a version: 3 .* or 5.*, at Caddyfile:4$/],
];

for (const [block, message] of RANGES) {
  test(`what is out of range is refused at its line: ${block.split('\n')[1]}`, () => {
    assert.match(refusal(block), message);
  });
}

/** Each option is fine, together they are not. */
const CONFLICTS: readonly (readonly [string, RegExp])[] = [
  ['health http {\nversion 1.1\n}', /^HTTP\/1.1 needs a Host field: .*, at Caddyfile:4$/],
  ['health http {\nmethod HEAD\nexpect_body ok\n}', /HEAD has no body: .*, at Caddyfile:5$/],
  ['health tcp {\naddress a:1\nport 2\n}', /has a port already: .*, at Caddyfile:5$/],
  ['health tcp {\nmax_loss 5%\n}', /add burst <n>, at Caddyfile:4$/],
  ['health tcp {\nmax_jitter 5ms\n}', /add burst <n>, at Caddyfile:4$/],
  ['health udp {\nburst 5\n}', /health udp needs send and expect for it, at Caddyfile:4$/],
  ['health udp {\nexpect x\n}', /needs send.*, at Caddyfile:3$/],
  ['health udp {\nsend x\nexpect x\nexpect_regex x\n}', /expect or expect_regex, not both, at Caddyfile:6$/],
  ['health dns {\nproxy_protocol v1\n}', /PROXY v1 is for TCP.*, at Caddyfile:4$/],
  ['health udp {\nsend a\nexpect b\necho on\n}', /leave echo on out, at Caddyfile:6$/],
  ['health_uri /x\nhealth tcp', /there are two active checks.*, at Caddyfile:4$/],
];

for (const [block, message] of CONFLICTS) {
  test(`what contradicts itself is refused at its line: ${JSON.stringify(block)}`, () => {
    assert.match(refusal(block), message);
  });
}

test('without the program ping, health udp is refused unless it does without an echo', () => {
  assert.match(
    refusal('health udp', { ping: false }),
    /program ping, which is not installed here.*echo off, at Caddyfile:3$/,
  );
  assert.notEqual(compile('health udp {\necho off\n}', { ping: false }).check, null);
  assert.notEqual(compile('health udp {\nsend x\nexpect y\n}', { ping: false }).check, null);
});

test('probes over UDP cannot ask a Unix socket', () => {
  assert.match(
    refusal('health dns', { upstreams: 'unix//run/app.sock' }),
    /speaks UDP, and unix\/\/run\/app.sock is a Unix socket.*, at Caddyfile:3$/,
  );
  assert.notEqual(compile('health tcp', { upstreams: 'unix//run/app.sock' }).check, null);
});

test('limits that cannot be reached, and names asked for by every probe, are warnings', () => {
  const said = (block: string): string[] => compile(block).warnings.map(({ line, message }) => `${line}: ${message}`);
  assert.match(said('health tcp {\nmax_rtt 5s\n}').join(), /^4: max_rtt is never reached/);
  assert.match(said('health tcp {\naddress app.test\n}').join(), /^4: the address of the check is a name/);
});

test('checks that differ in one option are two checks', () => {
  const hashes = ['health tcp', 'health tcp {\nclose fin\n}', 'health tcp {\nmax_rtt 1s\n}', 'health ssh'].map(
    (block) => compile(block).check?.hash,
  );
  assert.equal(new Set(hashes).size, hashes.length);
  assert.equal(compile('health tcp {\ninterval 5s\n}').check?.hash, hashes[0]);
});
