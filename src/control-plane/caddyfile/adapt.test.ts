import assert from 'node:assert/strict';
import test from 'node:test';
import { ConfigError } from '../../shared/config-error.ts';
import { type AdaptResult, adaptCaddyfile } from './adapt.ts';
import type { JsonValue } from './json.ts';

function adapt(text: string): AdaptResult {
  return adaptCaddyfile(text, { filename: 'Caddyfile', env: {} });
}

/** The value at a dotted path of the config. */
function at(result: AdaptResult, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = result.config;
  for (const key of path.split('.')) {
    value = value !== null && typeof value === 'object' ? (value as Record<string, JsonValue>)[key] : undefined;
  }
  return value;
}

function proxy(lines: string): string {
  return `:80 {\n reverse_proxy a:1 b:2 {\n${lines}\n }\n}\n`;
}

const PROXY = 'apps.http.servers.srv0.routes.0.handle.0';

test('positions lead from a JSON path to the line it was written on', () => {
  const { positions } = adapt(
    proxy(
      '  lb_policy cookie {\n   name s\n   secret x\n   max_age 5\n  }\n  health_uri /h\n  health_interval 3s\n  header_down Set-Cookie v\n  to c:3',
    ),
  );
  const lineOf = (path: string): number | undefined => positions.get(path)?.line;
  assert.equal(lineOf('apps.http.servers.srv0'), 1);
  assert.equal(lineOf(PROXY), 2);
  assert.equal(lineOf(`${PROXY}.upstreams.1`), 2);
  assert.equal(lineOf(`${PROXY}.upstreams.2`), 11);
  assert.equal(lineOf(`${PROXY}.load_balancing.selection_policy`), 3);
  assert.equal(lineOf(`${PROXY}.load_balancing.selection_policy.secret`), 5);
  assert.equal(lineOf(`${PROXY}.load_balancing.selection_policy.max_age`), 6);
  assert.equal(lineOf(`${PROXY}.health_checks.active.interval`), 9);
  assert.equal(lineOf(`${PROXY}.headers.response.set.Set-Cookie`), 10);
});

test('a position inside a snippet carries the chain of imports', () => {
  const { positions } = adapt('(p) {\n reverse_proxy {args[0]}\n}\n:80 {\n import p a:1\n}\n');
  assert.deepEqual(positions.get(`${PROXY}.upstreams.0`), {
    file: 'Caddyfile',
    line: 2,
    importChain: ['Caddyfile:5 (import p)'],
  });
});

test('lb_retries 0 is kept and absent retries stay absent', () => {
  assert.equal(at(adapt(proxy('lb_retries 0')), `${PROXY}.load_balancing.retries`), 0);
  assert.equal(at(adapt(proxy('lb_try_duration 1s')), `${PROXY}.load_balancing.retries`), undefined);
});

test('a bare number in cookie_lifetime counts seconds', () => {
  const result = adapt(proxy('lb_policy cookie {\n cookie_lifetime 90\n}'));
  assert.equal(at(result, `${PROXY}.load_balancing.selection_policy.max_age`), 90e9);
});

test('a site on two listeners has its routes once on each', () => {
  const result = adapt('a.test, http://a.test {\n respond one\n respond two\n}\n');
  for (const server of ['srv0', 'srv1']) {
    const handlers = at(result, `apps.http.servers.${server}.routes.0.handle.0.routes.0.handle`);
    assert.ok(Array.isArray(handlers));
    assert.equal(handlers.length, 2);
  }
});

test('directives run in the fixed order, and order changes it', () => {
  const site = ':80 {\n respond hi\n header X y\n}\n';
  assert.equal(at(adapt(site), `${PROXY}.handler`), 'headers');
  assert.equal(at(adapt(`{\n order respond before header\n}\n${site}`), `${PROXY}.handler`), 'static_response');
});

test('longer paths come before shorter ones, then other matchers, then none', () => {
  const site = ':80 {\n respond none\n @m method GET\n respond @m method\n respond /a short\n respond /abc* long\n}\n';
  const bodies = [0, 1, 2, 3].map((index) => at(adapt(site), `apps.http.servers.srv0.routes.${index}.handle.0.body`));
  assert.deepEqual(bodies, ['long', 'short', 'method', 'none']);
});

test('matchers of a block reach into blocks inside it and not out of it', () => {
  const inner = 'handle {\n @m method GET\n route {\n respond @m in\n }\n}';
  assert.ok(adapt(`:80 {\n ${inner}\n}\n`));
  assert.throws(
    () => adapt(`:80 {\n ${inner}\n respond @m out\n}\n`),
    /unrecognized matcher name: @m, at Caddyfile:8$/,
  );
});

test('a field may have any name', () => {
  const result = adapt(':80 {\n header __proto__ x\n header constructor y\n}\n');
  assert.match(JSON.stringify(result.config), /"__proto__":\["x"\].*"Constructor":\["y"\]/);
});

test('https sites on other ports ask for a TLS policy, sites that automatic HTTPS covers do not', () => {
  assert.deepEqual(at(adapt('https://:8443 {\n}\n'), 'apps.http.servers.srv0.tls_connection_policies'), [{}]);
  assert.equal(at(adapt('a.test:8443 {\n}\n'), 'apps.http.servers.srv0.tls_connection_policies'), undefined);
});

test('deprecated and unnecessary lines are warnings with file and line', () => {
  const { warnings } = adapt(proxy('  health_path /h\n  header_up X-Forwarded-Proto {scheme}'));
  assert.deepEqual(
    warnings.map(({ file, line, directive }) => [file, line, directive]),
    [
      ['Caddyfile', 3, 'health_path'],
      ['Caddyfile', 4, 'header_up'],
    ],
  );
});

const IN_PROXY: readonly (readonly [line: string, message: string])[] = [
  ['lb_retries -1', "bad lb_retries number '-1': write 0 or more"],
  ['lb_retries x', "bad lb_retries number 'x': write a whole number"],
  ['lb_retries', "wrong argument count or unexpected line ending after 'lb_retries'"],
  ['lb_try_duration 5', "bad duration value '5': write a number and a unit, such as 10s or 1m30s"],
  ['lb_policy random_choose 1', 'random_choose needs at least 2 to choose from, not 1'],
  ['lb_policy weighted_round_robin 0 0', 'at least one weight must be more than 0'],
  ['lb_policy ip_hash {\nbalance_factor 0.9\n}', "bad balance_factor '0.9': write 1 to 100, such as 1.25"],
  ['lb_queue 0', "bad lb_queue number '0': write 1 to 100000"],
  ['lb_queue 5 soon', "bad lb_queue timeout 'soon': write a number and a unit, such as 10s or 1m30s"],
  ['lb_queue', "wrong argument count or unexpected line ending after 'lb_queue'"],
  ['drain soon', "bad drain 'soon': write off, immediate, or a duration such as 30s"],
  ['drain', "wrong argument count or unexpected line ending after 'drain'"],
  ['to c:1 {\nweight -1\n}', "bad weight '-1': write 0 to 65535"],
  ['to c:1 {\nbackup yes\n}', "wrong argument count or unexpected line ending after 'yes'"],
  ['to c:1 {\nmax_requests many\n}', "bad max_requests 'many': write a whole number"],
  ['to c:1 {\nslow_start 5\n}', "bad slow_start '5': write a number and a unit, such as 10s or 1m30s"],
  ['to c:1 {\nmaxconn 5\n}', "unrecognized option 'maxconn'"],
  ['lb_policy first extra', "wrong argument count or unexpected line ending after 'extra'"],
  ['lb_policy first\nlb_policy first', 'load balancing selection policy already specified'],
  ['health_port 70000', "bad port number '70000': write 1 to 65535"],
  ['health_status 99', "bad status value '99': write a code such as 200 or a class such as 2xx"],
  ['health_upstream a', "bad health_upstream 'a': write an address and a port number, such as 10.0.0.1:8080"],
  ['health_initial maybe', "bad health_initial 'maybe': write up or down"],
  ['header_up ?X y', 'the ? modifier is for response headers only, in the header directive: ?X'],
  ['request_buffers 4XB', "invalid byte size '4XB': write a number, or one such as 4KB or 4KiB"],
  ['to ws://c', 'the scheme ws:// is only supported in browsers; use http:// instead'],
  [
    'to http://c/path',
    "for now, URLs for proxy upstreams only support scheme, host, and port components: remove what follows the port in 'http://c/path'; paths are changed by rewrite",
  ],
  ['to c:9-8', "end port must be greater than start port in 'c:9-8'"],
  ['to ::1', "the upstream '::1' has too many colons: put an IPv6 address in brackets"],
  ['to https://c:80', 'upstream address has conflicting scheme (https://) and port (:80)'],
  ['transport fastcgi', 'module not registered: http.reverse_proxy.transport.fastcgi; the only transport is http'],
  ['transport http {\nfoo\n}', 'unrecognized subdirective foo'],
  ['toString', 'unrecognized subdirective toString'],
  ['lb_polcy first', "unrecognized subdirective lb_polcy (did you mean 'lb_policy'?)"],
  ['transport http {\ndial_timout 1s\n}', "unrecognized subdirective dial_timout (did you mean 'dial_timeout'?)"],
  ['lb_policy cookie {\nsamesite lax\n}', "unrecognized option 'samesite' (did you mean 'same_site'?)"],
  ['lb_policy ip_hash {\nsed 1\n}', "unrecognized option 'sed' (did you mean 'seed'?)"],
];

for (const [line, message] of IN_PROXY) {
  test(`'${line.replaceAll('\n', '; ')}' in reverse_proxy is told with its line`, () => {
    // The proxy begins on line 2; of two lines the second is at fault.
    const expected = line.includes('\n') ? 4 : 3;
    assert.throws(
      () => adapt(proxy(line)),
      (error) => {
        assert.ok(error instanceof ConfigError);
        assert.equal(
          error.message,
          `parsing caddyfile tokens for 'reverse_proxy': ${message}, at Caddyfile:${expected}`,
        );
        assert.deepEqual(error.position, { file: 'Caddyfile', line: expected });
        return true;
      },
    );
  });
}

const ELSEWHERE: readonly (readonly [text: string, message: string])[] = [
  [
    'a.test {\n handle {\n  bind 1.2.3.4\n }\n}',
    "parsing caddyfile tokens for 'handle': directive 'bind' belongs to the site and cannot be used in a block, at Caddyfile:3",
  ],
  [
    '{\n auto_https no\n}',
    "parsing caddyfile tokens for 'auto_https': auto_https must be one of off, disable_redirects, disable_certs, ignore_loaded_certs; got 'no', at Caddyfile:2",
  ],
  [
    '{\n servers {\n  timeouts {\n   idle x\n  }\n }\n}',
    "parsing caddyfile tokens for 'servers': parsing idle timeout duration 'x': write a number and a unit, such as 10s or 1m30s, at Caddyfile:4",
  ],
  [
    '{\n resolvers dns.test\n}',
    "parsing caddyfile tokens for 'resolvers': bad resolver 'dns.test': write an IP address, with a port if it is not 53, at Caddyfile:2",
  ],
  [
    'a.test {\n}\nb.test\n',
    "site 'b.test' has no block: beside other sites each needs curly braces of its own, at Caddyfile:3",
  ],
  ['http://a.test:443 {\n}', '[http://a.test:443] scheme and port violate convention, at Caddyfile:1'],
  [
    'a.test {\n @m nope x\n respond @m hi\n}',
    "unrecognized matcher module 'nope': known are client_ip, expression, header, header_regexp, host, method, not, path, path_regexp, protocol, query, remote_ip, vars, vars_regexp, at Caddyfile:2",
  ],
  ['a.test {\n revers_proxy b\n}', "Caddyfile:2: unrecognized directive: revers_proxy (did you mean 'reverse_proxy'?)"],
  [
    'a.test {\n handle {\n  respnd b\n }\n}',
    "parsing caddyfile tokens for 'handle': unrecognized directive: respnd (did you mean 'respond'?), at Caddyfile:3",
  ],
  [
    'a.test {\n encode {\n  brotli\n }\n}',
    "parsing caddyfile tokens for 'encode': unrecognized encode format or subdirective 'brotli': formats are gzip, zstd, br, at Caddyfile:3",
  ],
  [
    'a.test {\n encode gzip {\n  gzip 5\n }\n}',
    "parsing caddyfile tokens for 'encode': encode format 'gzip' already specified, at Caddyfile:2",
  ],
  [
    'a.test {\n encode {\n  gzip five\n }\n}',
    "parsing caddyfile tokens for 'encode': bad level 'five': write a whole number, at Caddyfile:3",
  ],
  [
    'a.test {\n encode {\n  minimum_length\n }\n}',
    "parsing caddyfile tokens for 'encode': wrong argument count or unexpected line ending after 'minimum_length', at Caddyfile:3",
  ],
  [
    'a.test {\n push\n}',
    'Caddyfile:2: unrecognized directive: push (Caddy has it, this version of Holdfast does not: remove it)',
  ],
  [
    '{\n events a\n}',
    'Caddyfile:2: unrecognized global option: events (Caddy has it, this version of Holdfast does not: remove it)',
  ],
  [
    'a.test\n{\n respond x\n}',
    'Caddyfile:2: unrecognized directive: { (a block opens on the line of the site or directive it belongs to)',
  ],
  ['{\n grace_perod 1s\n}', "Caddyfile:2: unrecognized global option: grace_perod (did you mean 'grace_period'?)"],
  ['a.test {\n @m path /x\n @m path /y\n}', 'matcher is defined more than once: @m, at Caddyfile:3'],
  [
    'a.test {\n log {\n  level LOUD\n }\n}',
    "parsing caddyfile tokens for 'log': unknown log level 'LOUD': write one of DEBUG, INFO, WARN, ERROR, PANIC, FATAL, at Caddyfile:3",
  ],
];

for (const [text, message] of ELSEWHERE) {
  test(`${JSON.stringify(text)} is told with file and line`, () => {
    assert.throws(() => adapt(text), { name: 'ConfigError', message });
  });
}
