/** `dynamic` and `limits` from Caddyfile text to what the planes run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adaptCaddyfile } from '../../src/control-plane/caddyfile/adapt.ts';
import { compileConfig } from '../../src/control-plane/compile/compile.ts';
import type { CompileResult } from '../../src/control-plane/compile/compile.ts';
import type { DynamicSourceSpec, PoolSpec } from '../../src/control-plane/compile/compiled.ts';
import { readConfig } from '../../src/control-plane/config/from-json.ts';
import { batchParts, ConfigAssembly, splitResult } from '../../src/control-plane/helper/config-parts.ts';

function compile(text: string): CompileResult {
  const { config, positions } = adaptCaddyfile(text, { filename: 'Caddyfile', env: {} });
  return compileConfig(readConfig(config, positions), {
    positions,
    generatedSecret: () => 'k'.repeat(64),
    platform: 'linux',
  });
}

function proxied(line: string, upstreams = ''): string {
  return `:8080 {\n\treverse_proxy ${upstreams} {\n\t\t${line}\n\t}\n}\n`;
}

function poolOf(line: string, upstreams = ''): PoolSpec {
  return compile(proxied(line, upstreams)).compiled.pools[0]!;
}

function refusal(text: string): string {
  try {
    compile(text);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'not refused';
}

const A: DynamicSourceSpec = {
  kind: 'a',
  name: 'app.internal',
  port: 80,
  ipv4: true,
  ipv6: true,
  graceMs: 0,
  resolvers: [],
  refreshMs: 60_000,
};

test('dynamic a: name and port in line or block, families, refresh, resolvers', () => {
  assert.deepEqual(poolOf('dynamic a app.internal').sources, [A]);
  assert.deepEqual(poolOf('dynamic a app.internal 9000').sources, [{ ...A, port: 9000 }]);
  const block = 'dynamic a {\nname app.internal\nport 9000\nrefresh 5s\nresolvers 10.0.0.53\nversions ipv6\n}';
  assert.deepEqual(poolOf(block).sources, [
    { ...A, port: 9000, refreshMs: 5000, resolvers: ['10.0.0.53'], ipv4: false },
  ]);
});

test('dynamic srv: a whole name, or service and proto in front of it, and a grace period', () => {
  const srv: DynamicSourceSpec = { ...A, kind: 'srv', port: 0, name: '_http._tcp.app.internal' };
  assert.deepEqual(poolOf('dynamic srv _http._tcp.app.internal').sources, [srv]);
  const block = 'dynamic srv {\nservice http\nproto tcp\nname app.internal\ngrace_period 10s\n}';
  assert.deepEqual(poolOf(block).sources, [{ ...srv, graceMs: 10_000 }]);
});

test('dynamic multi is all its sources in order; global resolvers hold where a source names none', () => {
  const multi = 'dynamic multi {\na app.internal\na app.internal 81 {\nresolvers 10.0.0.2\n}\n}';
  const text = `{\n\tresolvers 10.0.0.1\n}\n${proxied(multi)}`;
  assert.deepEqual(compile(text).compiled.pools[0]!.sources, [
    { ...A, resolvers: ['10.0.0.1'] },
    { ...A, port: 81, resolvers: ['10.0.0.2'] },
  ]);
});

test('static upstreams beside dynamic are no members of the section, also through the helper thread', () => {
  const { compiled, warnings } = compile(proxied('dynamic a app.internal', '10.0.0.1:80'));
  const assembly = new ConfigAssembly();
  for (const batch of batchParts(splitResult({ text: '', warnings, compiled })))
    for (const part of batch) assembly.take(part);
  for (const pools of [compiled.pools, assembly.result().compiled!.pools]) {
    assert.deepEqual(pools[0]!.section.members, []);
    assert.deepEqual(
      pools[0]!.members.map(({ upstream }) => upstream),
      ['10.0.0.1:80'],
    );
  }
});

test('another source, another fallback: another pool', () => {
  const hashes = [
    poolOf('dynamic a app.internal'),
    poolOf('dynamic a app.internal 81'),
    poolOf('dynamic a app.internal', '10.0.0.1:80'),
    poolOf('dynamic a app.internal', 'tcp/10.0.0.1:80'),
    poolOf('to app.internal:80'),
  ].map(({ hash }) => hash);
  assert.equal(new Set(hashes).size, hashes.length);
});

test('what dynamic cannot do is refused at its line', () => {
  const cases: readonly (readonly [line: string, message: RegExp])[] = [
    ['dynamic a {host} 80', /'placeholders in dynamic upstreams' is not supported yet, at Caddyfile:3$/],
    ['dynamic a app {env.PORT}', /'placeholders in dynamic upstreams' is not supported yet, at Caddyfile:3$/],
    ['dynamic a', /dynamic has no name: .*, at Caddyfile:3$/],
    ['dynamic a a..b', /'a\.\.b' is no name that DNS can be asked for, at Caddyfile:3$/],
    ['dynamic a app 70000', /port: expected a port from 1 to 65535, found "70000", at Caddyfile:3$/],
    ['dynamic a app {\nrefresh 10ms\n}', /refresh: expected a duration from 1s to 1d .*, at Caddyfile:3$/],
    ['dynamic a app {\nresolvers dns.test\n}', /expected the IP address of a DNS server.*, at Caddyfile:3$/],
    ['dynamic multi', /dynamic multi has no sources: .*, at Caddyfile:3$/],
    ['dynamic a app {\ndial_timeout 1s\n}', /'dial_timeout in dynamic' is not supported yet, at Caddyfile:3$/],
  ];
  for (const [line, message] of cases) assert.match(refusal(proxied(line)), message, line);
});

test('ip_hash by modulo over dynamic upstreams is a warning, rendezvous is none, and N is not guessed at', () => {
  const warned = (policy: string): string[] =>
    compile(proxied(`dynamic a app\n\t\thealth_uri /\n\t\tlb_policy ${policy}`, '10.0.0.1 10.0.0.2')).warnings.map(
      ({ message }) => message,
    );
  assert.equal(warned('ip_hash').length, 1);
  assert.match(warned('ip_hash')[0]!, /moves most clients whenever DNS names one more or one less/);
  assert.deepEqual(warned('ip_hash {\nmapping rendezvous\n}'), []);
});

test('health_port beside a Unix socket is a warning', () => {
  const warned = compile(proxied('health_uri /\n\t\thealth_port 81', 'unix//run/app.sock')).warnings;
  assert.deepEqual(
    warned.map(({ message, line }) => [message, line]),
    [['health_port means nothing for unix//run/app.sock: the socket itself is checked', 4]],
  );
});

test('limits: each option, their absence, and values out of range', () => {
  const server = (lines: string): string => `{\n\tservers {\n\t\tlimits {\n\t\t\t${lines}\n\t\t}\n\t}\n}\n:8080 {\n}\n`;
  const optionsOf = (text: string) => {
    const { options } = compile(text).compiled.servers[0]!;
    const { maxHeaderFields, maxRequestsPerConnection, connectionLimits, streamsPerConnection } = options;
    return { maxHeaderFields, maxRequestsPerConnection, connectionLimits, streamsPerConnection };
  };
  const all =
    'connections 10\nconnections_per_source 2\nheader_fields 50\nrequests_per_connection 100\nstreams_per_connection 40';
  assert.deepEqual(optionsOf(server(all)), {
    maxHeaderFields: 50,
    maxRequestsPerConnection: 100,
    connectionLimits: { total: 10, perSource: 2 },
    streamsPerConnection: 40,
  });
  assert.deepEqual(optionsOf(server('connections_per_source 2')).connectionLimits, { total: 0, perSource: 2 });
  assert.deepEqual(optionsOf(':8080 {\n}\n'), {
    maxHeaderFields: 200,
    maxRequestsPerConnection: 0,
    connectionLimits: null,
    streamsPerConnection: undefined,
  });
  const cases: readonly (readonly [string, RegExp])[] = [
    ['connections 0', /limits\.connections: expected a whole number from 1 to 1000000000, found 0, at Caddyfile:4$/],
    ['header_fields 9', /limits\.header_fields: expected a whole number from 10 to 1000, found 9, at Caddyfile:4$/],
    [
      'streams_per_connection 0',
      /limits\.streams_per_connection: expected a whole number from 1 to 10000, found 0, at Caddyfile:4$/,
    ],
    ['connections many', /bad number of connections 'many': write a whole number, at Caddyfile:4$/],
    ['conections 5', /unrecognized limits option 'conections' \(did you mean 'connections'\?\), at Caddyfile:4$/],
    ['connections 5\nconnections 6', /connections already specified, at Caddyfile:5$/],
  ];
  for (const [lines, message] of cases) assert.match(refusal(server(lines)), message, lines);
});
