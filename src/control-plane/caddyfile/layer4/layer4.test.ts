/** What is wrong in a `layer4` option is told with its word, what to write instead, and its line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfig } from '../../../cli/check-config.ts';

function check(text: string): void {
  checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {});
}

/** The lines of one server, which begin at line 4. */
function server(lines: string, listen = ':3306'): string {
  return `{\nlayer4 {\n${listen} {\n${lines}\n}\n}\n}\n`;
}

/** The lines of one proxy, which begin at line 6. */
function proxy(lines: string, listen = ':3306', upstream = 'db:3306'): string {
  return server(`route {\nproxy ${upstream} {\n${lines}\n}\n}`, listen);
}

const UDP = 'udp/:53';
const ECHO = 'route {\necho\n}';

const FAULTS: readonly (readonly [what: string, text: string, message: RegExp])[] = [
  [
    'an unknown server option',
    server(`idle_timeuot 1s\n${ECHO}`),
    /unrecognized layer4 option 'idle_timeuot' \(did you mean 'idle_timeout'\?\), at Caddyfile:4$/,
  ],
  [
    'an unknown server option near to none',
    server(`protocols h1\n${ECHO}`),
    /unrecognized layer4 option 'protocols': known are @<name>, route, .*idle_timeout.*, at Caddyfile:4$/,
  ],
  [
    'an unknown option of an upstream',
    proxy('upstream db:3307 {\ncolour red\n}'),
    /unrecognized upstream option 'colour': known are dial, .*weight.*, at Caddyfile:7$/,
  ],
  [
    'a drain that is none',
    proxy('drain maybe'),
    /bad drain 'maybe': write off, immediate, or a duration such as 30s, at Caddyfile:6$/,
  ],
  [
    'a drain that is too long',
    proxy('drain 2d'),
    /drain: expected 'off', 'immediate' or a duration up to 1d, found 172800000000000 \(2d\), at Caddyfile:6$/,
  ],
  [
    'a Unix socket as a UDP upstream',
    proxy('', UDP, 'udp/unix//run/x'),
    /'udp\/unix\/\/run\/x' is no upstream address: a UDP server has host:port, at Caddyfile:5$/,
  ],
  [
    'an option twice',
    server(`idle_timeout 1s\nidle_timeout 2s\n${ECHO}`),
    /idle_timeout already specified, at Caddyfile:5$/,
  ],
  ['a surplus argument', server(`idle_timeout 1s 2s\n${ECHO}`), /wrong argument count .* after '2s', at Caddyfile:4$/],
  [
    'an option out of range',
    server(`${ECHO}\nmatching_timeout 1h`),
    /matching_timeout: expected a duration from 1ms to 5m .*, at Caddyfile:7$/,
  ],
  [
    'a number of 0',
    server(`connections 0\n${ECHO}`),
    /connections: expected a whole number from 1 to 1000000000, found 0, at Caddyfile:4$/,
  ],
  [
    'a buffer too small',
    server(`receive_buffer 1KiB\n${ECHO}`, UDP),
    /receive_buffer: expected a whole number from 4096 .*, at Caddyfile:4$/,
  ],
  [
    'a word that is no choice',
    server(`workers two\n${ECHO}`, UDP),
    /bad workers 'two': write one or all, at Caddyfile:4$/,
  ],
  [
    'a server without a block',
    '{\nlayer4 {\n:80\n}\n}\n',
    /':80' has no block: a layer4 server is written <address> \{ … \}, at Caddyfile:3$/,
  ],
  [
    'a server without a route',
    server('idle_timeout 1s'),
    /this layer4 server has no route: add route \{ proxy <host:port> \}, at Caddyfile:3$/,
  ],
  ['an address that is none', server(ECHO, 'nowhere'), /'nowhere' is no address to listen on: .*, at Caddyfile:3$/],
  ['an unknown network', server(ECHO, 'sctp/:80'), /'sctp\/' is not supported yet, at Caddyfile:3$/],
  [
    'TCP and UDP in one server',
    server(ECHO, ':53 udp/:53'),
    /tcp\/:53 and udp\/:53 are in one layer4 server: write a block for the TCP addresses and one for the UDP addresses, at Caddyfile:3$/,
  ],
  [
    'the same address twice',
    `${server(ECHO).slice(0, -4)}:3306 {\n${ECHO}\n}\n}\n}\n`,
    /two servers listen on tcp\/:3306, at Caddyfile:8$/,
  ],
  [
    'an address of a site',
    `${server(ECHO, ':80')}http://:80 {\nrespond x\n}\n`,
    /two servers listen on tcp\/:80, at Caddyfile:3$/,
  ],
  [
    'an option of UDP under TCP',
    server(`responses 1\n${ECHO}`),
    /responses is for UDP, and this layer4 server listens on TCP, at Caddyfile:4$/,
  ],
  [
    'an option of TCP under UDP',
    server(`connections 5\n${ECHO}`, UDP),
    /connections is for TCP, and this layer4 server listens on UDP: write max_sessions, at Caddyfile:4$/,
  ],
  [
    'accept under UDP',
    server(`accept shared\n${ECHO}`, UDP),
    /accept is for TCP, .*: one worker has the socket; write workers all for one in each, at Caddyfile:4$/,
  ],
  [
    'a UDP upstream under TCP',
    proxy('', ':53', 'udp/ns:53'),
    /'udp\/ns:53' is a UDP upstream under a TCP listener: write ns:53, at Caddyfile:5$/,
  ],
  [
    'a TCP upstream under UDP',
    proxy('', UDP, 'ns:53'),
    /'ns:53' is no UDP upstream, and stands under a UDP listener: write udp\/ns:53, at Caddyfile:5$/,
  ],
  [
    'a TCP upstream with its network under UDP',
    proxy('', UDP, 'tcp/ns:53'),
    /'tcp\/ns:53' is no UDP upstream, .*: write udp\/ns:53, at Caddyfile:5$/,
  ],
  [
    'a Unix socket under UDP',
    proxy('', UDP, 'unix//run/x'),
    /'unix\/\/run\/x' is no UDP upstream, .*: name a server as udp\/host:port, at Caddyfile:5$/,
  ],
  [
    'an upstream without a port',
    proxy('', ':53', 'ns'),
    /'ns' is no upstream address: write host:port, layer 4 has no default port, at Caddyfile:5$/,
  ],
  [
    'an upstream with a scheme',
    proxy('', ':53', 'http://ns:53'),
    /'http:\/\/ns:53' is no upstream address: write host:port, without http:\/\/, at Caddyfile:5$/,
  ],
  ['no upstream', server('route {\nproxy\n}'), /proxy has no upstreams: name at least one host:port, at Caddyfile:5$/],
  [
    'several addresses of one upstream',
    proxy('upstream a:1 b:1'),
    /several addresses of one upstream would each get a copy of the stream: write an upstream for each, at Caddyfile:6$/,
  ],
  [
    'an upstream block without an address',
    proxy('upstream {\nweight 2\n}'),
    /an upstream has an address: name one host:port, at Caddyfile:6$/,
  ],
  [
    'an option of an upstream twice',
    proxy('upstream a:1 {\nweight 2\nweight 3\n}'),
    /weight already specified, at Caddyfile:8$/,
  ],
  [
    'an option of an upstream out of range',
    proxy('upstream a:1 {\nweight 70000\n}'),
    /weight: expected a whole number from 0 to 65535, found 70000, at Caddyfile:7$/,
  ],
  [
    'TLS to some upstreams',
    proxy('upstream a:1 {\ntls\n}'),
    /the upstreams of one proxy are spoken to alike: .*tls_except_ports leaves out some, at Caddyfile:5$/,
  ],
  [
    'an option of TLS to an upstream twice',
    proxy('upstream a:1 {\ntls_server_name a\ntls_server_name b\n}'),
    /tls_server_name already specified, at Caddyfile:8$/,
  ],
  [
    'an option of TLS out of range',
    proxy('upstream a:1 {\ntls_timeout 2h\n}'),
    /handshake_timeout: expected .*, at Caddyfile:7$/,
  ],
  [
    'TLS to a UDP upstream',
    server('route {\nproxy {\nupstream udp/a:53 {\ntls\n}\n}\n}', UDP),
    /tls is for TCP upstreams, and this proxy has UDP ones, at Caddyfile:7$/,
  ],
  ['tls under UDP', server('route {\ntls\nproxy udp/a:53\n}', UDP), /tls ends TLS over TCP.*, at Caddyfile:5$/],
  [
    'tls that has no certificate',
    server('route {\ntls\nproxy a:53\n}'),
    /tls has no certificate to show: .*, at Caddyfile:5$/,
  ],
  [
    'an option of tls that is none',
    server('route {\ntls {\nconnection_polisy\n}\nproxy a:53\n}'),
    /unrecognized tls option 'connection_polisy': write connection_policy \{ … \}, at Caddyfile:6$/,
  ],
  [
    'an option of a connection_policy that is none',
    server('route {\ntls {\nconnection_policy {\nalpm x\n}\n}\nproxy a:53\n}'),
    /unrecognized connection_policy option 'alpm' \(did you mean 'alpn'\?\), at Caddyfile:7$/,
  ],
  [
    'an option of a connection_policy of caddy-l4',
    server('route {\ntls {\nconnection_policy {\ndrop\n}\n}\nproxy a:53\n}'),
    /'drop' \(layer4 tls handler\) is not supported yet, at Caddyfile:7$/,
  ],
  [
    'versions that cross',
    server('route {\ntls {\nconnection_policy {\nprotocols tls1.3 tls1.2\n}\n}\nproxy a:53\n}'),
    /protocol_min tls1\.3 is above protocol_max tls1\.2, at Caddyfile:6$/,
  ],
  [
    'a drain longer than a day',
    proxy('drain 25h'),
    /drain: expected 'off', 'immediate' or a duration up to 1d.*, at Caddyfile:6$/,
  ],
  ['a first_byte_timeout of nothing', proxy('first_byte_timeout 0s'), /first_byte_timeout: .*, at Caddyfile:6$/],
  [
    'an option of the proxy twice',
    proxy('lb_policy first\nlb_policy random'),
    /lb_policy already specified, at Caddyfile:7$/,
  ],
  [
    'an unknown option of the proxy',
    proxy('lb_polisy first'),
    /unrecognized proxy option 'lb_polisy' \(did you mean 'lb_policy'\?\), at Caddyfile:6$/,
  ],
  [
    'a policy that reads requests',
    proxy('lb_policy cookie'),
    /the policy 'cookie' reads HTTP requests, which layer 4 does not see: write ip_hash .*, at Caddyfile:6$/,
  ],
  ['the uri_hash policy', proxy('lb_policy uri_hash'), /the policy 'uri_hash' reads HTTP requests/],
  ['an unknown policy', proxy('lb_policy roundrobin'), /roundrobin.*, at Caddyfile:6$/],
  [
    'an unknown version of the PROXY protocol',
    proxy('proxy_protocol v3'),
    /proxy_protocol: expected 'v1' or 'v2', found "v3", at Caddyfile:6$/,
  ],
  [
    'PROXY v1 under UDP',
    proxy('proxy_protocol v1', UDP, 'udp/ns:53'),
    /proxy_protocol v1 is a line of text for TCP: write proxy_protocol v2 for UDP, at Caddyfile:6$/,
  ],
  [
    'proxy_header under TCP',
    proxy('proxy_protocol v2\nproxy_header first'),
    /proxy_header is for UDP: .*, at Caddyfile:7$/,
  ],
  [
    'proxy_header without a header',
    proxy('proxy_header first', UDP, 'udp/ns:53'),
    /there is none: add proxy_protocol v2, at Caddyfile:6$/,
  ],
  [
    'best_effort with another word',
    proxy('best_effort maybe'),
    /bad best_effort 'maybe': write on or off, at Caddyfile:6$/,
  ],
  [
    'preserve_client_ip',
    proxy('preserve_client_ip'),
    /'preserve_client_ip' is not supported: it needs a data plane in the kernel\. Write proxy_protocol v2 .*, at Caddyfile:6$/,
  ],
  [
    'close_if_unhealthy beside another drain',
    proxy('close_if_unhealthy\ndrain 5s'),
    /close_if_unhealthy means drain immediate: write one of them/,
  ],
  [
    'a passive check out of range',
    proxy('fail_duration 2d'),
    /fail_duration: expected a duration from 0s to 1d .*, at Caddyfile:6$/,
  ],
  [
    'unhealthy_connection_count out of range',
    proxy('unhealthy_connection_count -1'),
    /unhealthy_connection_count: expected a whole number .*, at Caddyfile:6$/,
  ],
  [
    'upstreams that are dialled from different addresses',
    proxy('upstream a:1 {\nlocal_addr 127.0.0.1\n}'),
    /the upstreams of one proxy have one local_addr/,
  ],
  [
    'a matcher that is not defined',
    server('@a ssh\nroute @b {\necho\n}'),
    /matcher @b is not defined: known are @a, at Caddyfile:5$/,
  ],
  [
    'a matcher without its @',
    server('route ssh {\necho\n}'),
    /'ssh' is no matcher: write @name, and define it as @name <matcher>, at Caddyfile:4$/,
  ],
  [
    'a matcher defined twice',
    server('@a ssh\n@a ssh\nroute {\necho\n}'),
    /matcher is defined more than once: @a, at Caddyfile:5$/,
  ],
  ['a matcher without a condition', server('@a\nroute @a {\necho\n}'), /'@a' names no matcher, at Caddyfile:4$/],
  [
    'a matcher twice in one set',
    server('@a {\nssh\nssh\n}\nroute @a {\necho\n}'),
    /the matcher 'ssh' is written twice in one set, of which all must hold, at Caddyfile:6$/,
  ],
  [
    'an unknown matcher',
    server('@a remot_ip\nroute @a {\necho\n}'),
    /unrecognized layer4 matcher 'remot_ip' \(did you mean 'remote_ip'\?\): known are .*, at Caddyfile:4$/,
  ],
  [
    'a matcher of caddy-l4',
    server('@a postgres\nroute @a {\necho\n}'),
    /'postgres' \(layer4 matcher\) is not supported yet, at Caddyfile:4$/,
  ],
  [
    'a range that is none',
    server('@a remote_ip 10.0.0.0/33\nroute @a {\necho\n}'),
    /expected an IP address, a prefix .*, at Caddyfile:4$/,
  ],
  [
    'a matcher of requests that needs more',
    server('@a http header X y\nroute @a {\necho\n}'),
    /'header \(in a layer4 http matcher\)' is not supported yet, at Caddyfile:4$/,
  ],
  [
    'a matcher of streams under UDP',
    server('@a tls sni x\nroute @a {\necho\n}', UDP),
    /the matcher 'tls' reads a TCP stream, and its server listens on UDP: use remote_ip, at Caddyfile:4$/,
  ],
  ['such a matcher behind not', server('@a not ssh\nroute @a {\necho\n}', UDP), /the matcher 'ssh' reads a TCP stream/],
  [
    'an unknown handler',
    server('route {\necko\n}'),
    /unrecognized layer4 handler 'ecko' \(did you mean 'echo'\?\): known are .*, at Caddyfile:5$/,
  ],
  [
    'a handler of caddy-l4',
    server('route {\nthrottle\n}'),
    /'throttle' \(layer4 handler\) is not supported yet, at Caddyfile:5$/,
  ],
  [
    'a handler that is never reached',
    server('route {\nclose\necho\n}'),
    /echo is never reached: close before it takes the connection, at Caddyfile:6$/,
  ],
  [
    'a route without a handler',
    server('route {\n}'),
    /this route does nothing: add proxy, subroute, echo or close, at Caddyfile:4$/,
  ],
  [
    'a route without an end',
    server('route {\nproxy_protocol\n}'),
    /nothing takes the connection at the end of this route: .*, at Caddyfile:4$/,
  ],
  [
    'a subroute without a route',
    server('route {\nsubroute\n}'),
    /this subroute has no route: add one, at Caddyfile:5$/,
  ],
  [
    'a matcher of the server in a subroute',
    server('@a ssh\nroute {\nsubroute {\nroute @a {\necho\n}\n}\n}'),
    /matcher @a is not defined, at Caddyfile:7$/,
  ],
  [
    'proxy_protocol with an unknown option',
    server('route {\nproxy_protocol {\nalow 1.2.3.4\n}\necho\n}'),
    /unrecognized proxy_protocol option 'alow' \(did you mean 'allow'\?\), at Caddyfile:6$/,
  ],
  ['a close with arguments', server('route {\nclose now\n}'), /wrong argument count .* after 'now', at Caddyfile:5$/],
];

for (const [what, text, message] of FAULTS) {
  test(`${what} is an error with its line`, () => {
    assert.throws(() => check(text), { name: 'ConfigError', message });
  });
}

test('what is right is accepted', () => {
  const lines = 'lb_policy random_choose\nlb_retries 3\nbest_effort\nslow_start 10s\ndial_timeout 1s\ndrain off';
  assert.doesNotThrow(() => check(proxy(lines)));
  assert.doesNotThrow(() => check(proxy('upstream {\ndial db-2:3306\nbackup\n}')));
  assert.doesNotThrow(() => check(proxy('proxy_protocol v2\nproxy_header first', UDP, 'udp/[::1]:53 udp/:53')));
  assert.doesNotThrow(() =>
    check(
      server(
        `@web {\ntls {\nsni a b\nalpn h2\n}\n}\n@all http\n@not not remote_ip ::1\nroute @web @all @not {\nclose\n}`,
      ),
    ),
  );
});

test('TCP and UDP may share a port, and a file may have layer4 twice', () => {
  const tcp = server(ECHO, ':53').slice(2, -2);
  const udp = server(ECHO, UDP).slice(2, -2);
  assert.doesNotThrow(() => check(`{\n${tcp}${udp}}\n`));
});
