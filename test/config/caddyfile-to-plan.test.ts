/** Caddyfile text all the way to what the planes run: names of fields and positions agree between the stages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adaptCaddyfile } from '../../src/control-plane/caddyfile/adapt.ts';
import { compileConfig } from '../../src/control-plane/compile/compile.ts';
import type { CompileResult } from '../../src/control-plane/compile/compile.ts';
import { readConfig } from '../../src/control-plane/config/from-json.ts';
import { BEHIND_A_PROXY, COOKIE, IP_HASH } from '../support/published-configs.ts';

function compile(text: string): CompileResult {
  const { config, positions } = adaptCaddyfile(text, { filename: 'Caddyfile', env: {} });
  return compileConfig(readConfig(config, positions), {
    positions,
    generatedSecret: () => 'k'.repeat(64),
    platform: 'linux',
  });
}

function refusal(text: string): string {
  try {
    compile(text);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'not refused';
}

function withoutHttps(text: string): string {
  return text.startsWith('{') ? text.replace('{', '{\n\tauto_https off') : `{\n\tauto_https off\n}\n${text}`;
}

test('a site with a public name is served over HTTPS with a certificate ordered for it, written where it stands', () => {
  for (const [text, line] of [
    [IP_HASH, 1],
    [BEHIND_A_PROXY, 6],
    [COOKIE, 1],
  ] as const) {
    const { tls, servers } = compile(text).compiled;
    assert.deepEqual(
      tls.certificates.map((spec) => [spec.source, 'name' in spec && spec.name, spec.place]),
      [['acme', 'example.com', `Caddyfile:${line}`]],
    );
    assert.deepEqual(
      servers.map(({ listeners, tls: plan }) => [listeners, plan !== undefined]),
      [
        [['tcp/:443'], true],
        [['tcp/:80'], false],
      ],
      'and a server that redirects',
    );
  }
});

test('ip_hash with health checks compiles once HTTPS is off', () => {
  const { compiled, warnings } = compile(withoutHttps(IP_HASH));
  const [pool] = compiled.pools;
  assert.deepEqual(
    compiled.listeners.map(({ key }) => key),
    ['tcp/:443'],
  );
  assert.equal(pool?.section.policy.policy, 'ip_hash');
  assert.deepEqual(
    pool?.members.map(({ host, port }) => `${host} ${port}`),
    ['backend-1 3000', 'backend-2 3000', 'backend-3 3000'],
  );
  const { probe, intervalMs, timeoutMs } = pool?.check ?? {};
  assert.deepEqual([probe?.kind === 'http' && probe.uri, intervalMs, timeoutMs], ['/healthz', 10_000, 3000]);
  assert.deepEqual(
    warnings.map(({ directive, file, line }) => `${directive} ${file}:${line}`),
    ['auto_https Caddyfile:4'],
  );
});

test('trusted proxies reach the server, and two upstreams without checks are worth two warnings at lb_policy', () => {
  const { compiled, warnings } = compile(withoutHttps(BEHIND_A_PROXY));
  assert.deepEqual(compiled.servers[0]?.options.trustedProxies, ['10.0.0.0/24']);
  assert.deepEqual(
    warnings.map(({ directive, line }) => `${directive} ${line}`),
    ['auto_https 7', 'lb_policy 9', 'lb_policy 9'],
  );
});

test('the cookie block reaches the plan, and its published secret is told', () => {
  const { compiled, warnings } = compile(withoutHttps(COOKIE));
  const policy = compiled.pools[0]?.section.policy;
  assert.ok(policy?.policy === 'cookie');
  assert.deepEqual(
    [policy.name, policy.secrets],
    ['caddy_session', ['production-secret-key-must-be-long-and-unique-once']],
  );
  assert.ok(warnings.some(({ line, message }) => line === 6 && message.includes('published examples')));
});

test('every option of ours passes all stages', () => {
  const { compiled } = compile(`{
	http_port 8080
	grace_period 5s
	admin localhost:2020
	resolvers 9.9.9.9 8.8.8.8:53
	name_refresh 10s
	worker_hang_timeout 5s
	servers {
		accept shared
		client_ip_headers X-Client
		max_header_size 32KiB
		timeouts {
			read_body 30s
			read_body_idle 20s
			read_header 10s
			write 40s
			write_idle 25s
			idle 1m
		}
	}
}
http://a.test {
	reverse_proxy :3000 [::1]:80 app:80 {
		lb_policy cookie {
			name a
			secret first-0123456789-0123456789-0123456789
			secret second-0123456789-0123456789-0123456789
			cookie_lifetime 3600
			same_site strict
			secure on
			http_only off
			partitioned
			path /app
			domain a.test
			format caddy
			fallback ip_hash {
				seed 7
				ipv4_prefix 24
				ipv6_prefix 56
				nat64 2001:db8:64::/96
			}
		}
		lb_retries 0
		lb_try_duration 4s
		lb_try_interval 100ms
		lb_best_effort
		health_uri /up
		health_status 2xx
		health_fails 3
		health_passes 2
		health_initial down
		trusted_proxies 192.0.2.0/24
		header_up X-A b
		header_down -Server
		transport http {
			dial_timeout 1s
			response_header_timeout 9s
			keepalive 30s
			keepalive_idle_conns_per_host 4
		}
	}
}
`);
  const [pool] = compiled.pools;
  assert.deepEqual(pool?.section.policy, {
    policy: 'cookie',
    name: 'a',
    secrets: ['first-0123456789-0123456789-0123456789', 'second-0123456789-0123456789-0123456789'],
    maxAgeSeconds: 3600,
    sameSite: 'Strict',
    secure: true,
    httpOnly: false,
    partitioned: true,
    path: '/app',
    domain: 'a.test',
    format: 'caddy',
    fallback: {
      policy: 'ip_hash',
      onFailure: 'home',
      mapping: 'modulo',
      seed: 7,
      ipv4Prefix: 24,
      ipv6Prefix: 56,
      nat64: ['2001:db8:64::/96'],
      balanceFactor: null,
    },
  });
  assert.deepEqual(
    pool?.members.map(({ identity, host }) => `${identity} ${host}`),
    [':3000 localhost', '[::1] ::1', 'app app'],
  );
  assert.deepEqual(pool?.section.retry, { retries: 0, tryDurationMs: 4000, tryIntervalMs: 100 });
  assert.deepEqual([pool?.bestEffort, pool?.resolvers], [true, ['9.9.9.9', '8.8.8.8:53']]);
  const check = pool?.check;
  assert.deepEqual([check?.fall, check?.rise, check?.initial], [3, 2, 'down']);
  assert.deepEqual(check?.probe.kind === 'http' && check.probe.statuses, [2]);
  const { transport } = pool?.section ?? {};
  assert.deepEqual([transport?.dialTimeoutMs, transport?.responseHeaderTimeoutMs], [1000, 9000]);
  assert.deepEqual([transport?.keepAliveIdleMs, transport?.maxIdlePerEndpoint], [30_000, 4]);
  assert.deepEqual(compiled.servers[0]?.options, {
    trustedProxies: [],
    clientIpHeaders: ['X-Client'],
    readHeaderTimeoutMs: 10_000,
    idleTimeoutMs: 60_000,
    readBodyIdleTimeoutMs: 20_000,
    writeIdleTimeoutMs: 25_000,
    readBodyTimeoutMs: 30_000,
    writeTimeoutMs: 40_000,
    maxHeaderBytes: 32_768,
    maxHeaderFields: 200,
    maxRequestsPerConnection: 0,
    connectionLimits: null,
    accessLog: null,
  });
  assert.deepEqual(compiled.listeners, [
    { key: 'tcp/:8080', host: '', port: 8080, accept: 'shared', fd: null, place: 'Caddyfile:22' },
  ]);
  assert.deepEqual([compiled.gracePeriodMs, compiled.admin.port], [5000, 2020]);
  assert.deepEqual([compiled.nameRefreshMs, compiled.workerHangTimeoutMs], [10_000, 5000]);
});

test('what does not exist yet is refused by the word and the line that were written', () => {
  const site = (line: string): string =>
    `:8080 {\n\treverse_proxy app:80 {\n\t\tlb_policy first\n\t\t${line}\n\t}\n}\n`;
  for (const [line, word] of [['verbose_logs', 'verbose_logs']] as const) {
    assert.equal(refusal(site(line)), `'${word}' is not supported yet, at Caddyfile:4`);
  }
  assert.equal(
    refusal(':8080 {\n\treverse_proxy https://app {\n\t\ttransport http {\n\t\t\tversions 3\n\t\t}\n\t}\n}\n'),
    "'version 3' is not supported yet, at Caddyfile:4",
  );
  assert.equal(
    refusal(':8080 {\n\treverse_proxy {vars.x} {\n\t\tdynamic a app.internal 80\n\t}\n}\n'),
    "'placeholders in upstreams beside dynamic ones' is not supported yet, at Caddyfile:2",
  );
});

test('an upstream with a brace that begins no placeholder is refused at its line', () => {
  assert.equal(
    refusal(':8080 {\n\treverse_proxy {backend\n}\n'),
    "'{backend' has a brace, but names no placeholder: write {name}, at Caddyfile:2",
  );
});

test('options of tunnels and transports out of range are refused at their lines', () => {
  const text = (line: string): string => `:8080 {\n\treverse_proxy app:80 {\n\t\t${line}\n\t}\n}\n`;
  assert.match(
    refusal(text('stream_timeout 31d')),
    /stream_timeout: expected a duration from 0s to 30d .*, at Caddyfile:3$/,
  );
  assert.match(refusal(text('stream_close_delay 31d')), /stream_close_delay: expected .*, at Caddyfile:3$/);
  for (const line of ['read_timeout 25h', 'write_timeout 25h']) {
    const [word] = line.split(' ');
    assert.match(
      refusal(text(`transport http {\n${line}\n}`)),
      new RegExp(`${word}: expected a duration from 0s to 1d .*, at Caddyfile:4$`),
    );
  }
  assert.match(refusal(text('transport http {\nproxy_protocol v3\n}')), /proxy_protocol 'v3'.*Caddyfile:4/);
});

test('a value out of range is refused at the line that has it', () => {
  const text = ':8080 {\n\treverse_proxy app:80 {\n\t\thealth_uri /\n\t\thealth_interval 1ms\n\t}\n}\n';
  assert.match(
    refusal(text),
    /active\.interval: expected a duration from 10ms to 1d .*, found 1000000 \(1ms\), at Caddyfile:4$/,
  );
});

test('a global duration out of range is refused at its line', () => {
  const refused = (option: string): string => refusal(`{\n\tauto_https off\n\t${option}\n}\n:8080 {\n}\n`);
  assert.match(
    refused('name_refresh 2h'),
    /^apps\.http\.name_refresh: expected a duration from 1s to 1h .*, at Caddyfile:3$/,
  );
  assert.match(
    refused('worker_hang_timeout 100ms'),
    /^apps\.http\.worker_hang_timeout: expected a duration from 500ms to 10m .*, at Caddyfile:3$/,
  );
  assert.match(refused('name_refresh soon'), /bad duration value 'soon': .*, at Caddyfile:3$/);
});

test('a site on an inherited socket is served by its descriptor, and a wildcard needs DNS like on any other', () => {
  const { compiled } = compile('http://a.test, http://b.test:8080 {\n\tbind fd/3\n}\n');
  assert.deepEqual(compiled.listeners, [
    { key: 'fd/3', host: '', port: 0, accept: 'shared', fd: 3, place: 'Caddyfile:1' },
  ]);
  assert.deepEqual(compiled.servers[0]?.listeners, ['fd/3']);
  assert.match(
    refusal('*.a.test {\n\tbind fd/3\n}\n'),
    /sign for one only by the DNS challenge: write .*, at Caddyfile:1$/,
  );
});
