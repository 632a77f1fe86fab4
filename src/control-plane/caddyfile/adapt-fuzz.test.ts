import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { ConfigError } from '../../shared/config-error.ts';
import { adaptCaddyfile } from './adapt.ts';
import { DIRECTIVES } from './registry.ts';

/** Adapts, and accepts a config or a `ConfigError` with a position; anything else is a fault of ours. */
function survive(text: string): void {
  try {
    const { config } = adaptCaddyfile(text, {
      filename: 'F',
      env: { V: 'value' },
      readFile: () => {
        throw new Error('no files here');
      },
      glob: () => [],
    });
    JSON.stringify(config);
  } catch (error) {
    assert.ok(error instanceof ConfigError, `${JSON.stringify(text)} throws ${String(error)}`);
    assert.equal(error.position?.file, 'F');
  }
}

test('any text is adapted or refused with a position', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 80 }), survive), { numRuns: 500 });
});

/** Words that mean something somewhere, so that most lines get past the first check. */
const WORDS: readonly string[] = [
  ...DIRECTIVES.keys(),
  ...['{', '}', '{\n', '}\n', '\n', '\n', '\n', '*', '/a*', '@m', 'a:80', ':80', 'http://a', 'https://b:1-3', '{host}'],
  ...['import', '(s)', 's', '{block}', '{args[0]}', '{$V}', '"q"', '`b`', '<<E\nx\nE', '0', '-1', '10s', '200', '5xx'],
  ...['lb_policy', 'cookie', 'ip_hash', 'fallback', 'secret', 'lb_retry_match', 'health_uri', 'health_headers', 'to'],
  ...['header_up', 'transport', 'http', 'tls', 'keepalive', 'dynamic', 'srv', 'not', 'path', 'query', 'expression'],
  ...['servers', 'timeouts', 'admin', 'trusted_proxies', 'static', 'output', 'file', 'format', 'filter', 'match'],
  ...['constructor', '__proto__', 'toString', 'hasOwnProperty', '', ','],
];

test('lines made of known words are adapted or refused with a position', () => {
  const lines = fc.array(fc.constantFrom(...WORDS), { maxLength: 30 }).map((words) => words.join(' '));
  fc.assert(fc.property(lines, survive), { numRuns: 1000 });
});

test('blocks of known words inside a site are adapted or refused with a position', () => {
  const line = fc.array(fc.constantFrom(...WORDS.filter((word) => !/[{}\n]/.test(word))), {
    minLength: 1,
    maxLength: 4,
  });
  const block = fc.array(line, { maxLength: 3 }).map((lines) => lines.map((words) => words.join(' ')).join('\n'));
  const directive = fc.constantFrom(...DIRECTIVES.keys());
  const site = fc
    .tuple(directive, line, block)
    .map(([name, words, inner]) => `:80 {\n${name} ${words.join(' ')} {\n${inner}\n}\n}`);
  fc.assert(fc.property(site, survive), { numRuns: 1500 });
});

/** Words of the `layer4` option. */
const LAYER4_WORDS: readonly string[] = [
  ...['route', '@m', 'proxy', 'udp/a:53', 'a:1', 'upstream', 'dial', 'weight', 'health', 'tcp', 'dns', 'interval'],
  ...['remote_ip', 'tls', 'sni', 'http', 'host', 'ssh', 'not', 'proxy_protocol', 'allow', 'timeout', 'subroute'],
  ...['close', 'echo', 'lb_policy', 'ip_hash', 'cookie', 'drain', 'best_effort', 'off', 'idle_timeout', 'responses'],
  ...['10s', '1', '-1', 'v2', '10.0.0.0/8', 'private_ranges', '"q"', '__proto__', 'constructor', '', '{', '}\n', '\n'],
];

test('layer4 blocks of known words are adapted or refused with a position', () => {
  const lines = fc.array(fc.constantFrom(...LAYER4_WORDS), { maxLength: 25 }).map((words) => words.join(' '));
  const places = fc.constantFrom('%', ':1 {\n%\n}', ':1 {\nroute {\n%\n}\n}', ':1 {\nroute {\nproxy a:1 {\n%\n}\n}\n}');
  const config = fc
    .tuple(places, lines)
    .map(([place, inner]) => `{\nlayer4 {\n${place.replace('%', () => inner)}\n}\n}\n`);
  fc.assert(fc.property(config, survive), { numRuns: 1500 });
});
