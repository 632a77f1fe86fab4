import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Layer4RoutePlan, Layer4Section } from '../../../shared/plan/layer4.ts';
import { compileJson } from '../../../../test/support/config-fixtures.ts';
import type { Json } from '../../../../test/support/config-fixtures.ts';
import type { CompiledConfig } from '../compiled.ts';

const PROXY: Json = { handler: 'proxy', upstreams: [{ dial: ['10.0.0.1:3306'] }] };

function compile(server: Json, rest: Json = {}): CompiledConfig {
  const srv0 = { listen: [':3306'], routes: [{ handle: [PROXY] }], ...server };
  return compileJson({ apps: { layer4: { servers: { srv0 } }, ...rest } }).compiled;
}

function sectionOf(compiled: CompiledConfig): Layer4Section {
  const section = compiled.sections.get(compiled.layer4[0]!.section);
  assert.ok(section?.kind === 'layer4');
  return section;
}

function routesOf(routes: readonly Json[]): readonly Layer4RoutePlan[] {
  return sectionOf(compile({ routes })).routes;
}

test('a TCP server without options has the defaults of TCP', () => {
  const compiled = compile({});
  const { section, ...server } = compiled.layer4[0]!;
  assert.deepEqual(server, {
    name: 'srv0',
    network: 'tcp',
    listeners: ['tcp/:3306'],
    options: { idleTimeoutMs: 900_000, matchingTimeoutMs: 3000, limits: null, newPerSecond: 0, udp: null },
  });
  const [pool] = compiled.pools;
  assert.deepEqual(compiled.sections.get(section), {
    kind: 'layer4',
    hash: section,
    routes: [{ match: [], handle: [{ handler: 'proxy', pool: pool!.hash, proxyHeaderOn: 'each' }] }],
    pools: [pool!.hash],
  });
  assert.equal(pool!.layer, 'tcp');
  assert.equal(pool!.bestEffort, true);
  assert.equal(pool!.section.transport.maxIdlePerEndpoint, 0);
  assert.equal(compiled.sections.get(pool!.hash), pool!.section);
});

test('a UDP server has the defaults of UDP, and its listeners say who owns them', () => {
  const udp = { handler: 'proxy', upstreams: [{ dial: ['udp/10.0.0.1:53'] }] };
  const compiled = compile({ listen: ['udp/:53'], routes: [{ handle: [udp] }] });
  assert.deepEqual(compiled.layer4[0]!.options, {
    idleTimeoutMs: 20_000,
    matchingTimeoutMs: 3000,
    limits: null,
    newPerSecond: 0,
    udp: { workers: 'one', maxSessions: 65_536, receiveBufferBytes: 4_194_304, responses: 0 },
  });
  const [listener] = compiled.listeners;
  assert.equal(listener!.key, 'udp/:53');
  assert.equal(listener!.network, 'udp');
  assert.equal(listener!.owners, 'one');
  assert.equal(listener!.receiveBufferBytes, 4_194_304);
  const [member] = compiled.pools[0]!.members;
  assert.deepEqual(member, {
    ...{ upstream: 'udp/10.0.0.1:53', identity: '10.0.0.1:53' },
    ...{ host: '10.0.0.1', port: 53, network: 'udp' },
  });
});

test('written options reach the plan', () => {
  const tcp = compile({
    ...{ idle_timeout: '1h', matching_timeout: '500ms', connections: 100, connections_per_source: 3 },
    ...{ new_per_second: 7, accept: 'shared' },
  });
  assert.deepEqual(tcp.layer4[0]!.options, {
    idleTimeoutMs: 3_600_000,
    matchingTimeoutMs: 500,
    limits: { total: 100, perSource: 3 },
    newPerSecond: 7,
    udp: null,
  });
  assert.equal(tcp.listeners[0]!.accept, 'shared');
  const udp = compile({
    listen: ['udp/:53'],
    routes: [{ handle: [{ handler: 'echo' }] }],
    ...{ workers: 'all', max_sessions: 10, receive_buffer: 65_536, responses: 1 },
  });
  assert.deepEqual(udp.layer4[0]!.options.udp, {
    workers: 'all',
    maxSessions: 10,
    receiveBufferBytes: 65_536,
    responses: 1,
  });
  assert.equal(udp.listeners[0]!.owners, 'all');
});

test('addresses of all kinds that carry streams go together: ranges, Unix sockets, inherited ones', () => {
  const { listeners, layer4 } = compile({ listen: [':4000-4001', 'tcp/[::1]:5000', 'unix//run/a.sock|0222', 'fd/3'] });
  const keys = ['tcp/:4000', 'tcp/:4001', 'tcp/[::1]:5000', 'unix//run/a.sock', 'fd/3'];
  assert.deepEqual(layer4[0]!.listeners, keys);
  assert.deepEqual(
    listeners.map(({ key }) => key),
    keys,
  );
  assert.deepEqual(listeners[3]!.unix, { path: '/run/a.sock', mode: 0o222 });
  assert.equal(listeners[3]!.network, 'unix');
});

test('options of a proxy reach its pool', () => {
  const { pools } = compile({
    routes: [
      {
        handle: [
          {
            handler: 'proxy',
            upstreams: [
              { dial: ['a:1'], weight: 3, max_connections: 9, local_addr: '127.0.0.1' },
              { dial: ['tcp/b:2'], backup: true, slow_start: '10s', local_addr: '127.0.0.1' },
            ],
            load_balancing: {
              ...{ selection: { policy: 'least_conn' }, try_duration: '2s', try_interval: '10ms' },
              ...{ retries: 4, best_effort: false },
            },
            health_checks: { passive: { fail_duration: '5s', max_fails: 2, unhealthy_connection_count: 20 } },
            proxy_protocol: 'v1',
            dial_timeout: '1s',
          },
        ],
      },
    ],
  });
  const { section, members, bestEffort } = pools[0]!;
  assert.deepEqual(members, [
    { upstream: 'a:1', identity: 'a:1', host: 'a', port: 1, weight: 3, maxRequests: 9 },
    { upstream: 'tcp/b:2', identity: 'b:2', host: 'b', port: 2, backup: true, slowStartMs: 10_000, maxRequests: 20 },
  ]);
  assert.equal(bestEffort, false);
  assert.deepEqual(section.policy, { policy: 'least_conn' });
  assert.deepEqual(section.retry, { retries: 4, tryDurationMs: 2000, tryIntervalMs: 10 });
  assert.equal(section.passive?.failDurationMs, 5000);
  assert.equal(section.passive?.maxFails, 2);
  assert.equal(section.transport.proxyProtocol, 'v1');
  assert.equal(section.transport.localAddress, '127.0.0.1');
  assert.equal(section.transport.dialTimeoutMs, 1000);
});

test('pools of HTTP, TCP and UDP over the same addresses are pools of their own', () => {
  const http = { handler: 'reverse_proxy', upstreams: [{ dial: '10.0.0.1:53' }] };
  const upstreams = (dial: string): Json => ({ handler: 'proxy', upstreams: [{ dial: [dial] }] });
  const { pools } = compile(
    { routes: [{ handle: [upstreams('10.0.0.1:53')] }] },
    { http: { servers: { srv0: { listen: [':80'], routes: [{ handle: [http] }] } } } },
  );
  const { pools: udp } = compile({ listen: ['udp/:53'], routes: [{ handle: [upstreams('udp/10.0.0.1:53')] }] });
  const all = [...pools, ...udp];
  assert.deepEqual(
    all.map(({ layer }) => layer),
    [undefined, 'tcp', 'udp'],
  );
  assert.equal(new Set(all.map(({ hash }) => hash)).size, 3);
});

test('matchers: names in lower case, and an alternative of http is a set of its own', () => {
  const match = [
    {
      remote_ip: { ranges: ['10.0.0.0/8'] },
      tls: { sni: ['*.Example.com'], alpn: ['h2'] },
      not: [{ ssh: {} }],
    },
    { ssh: {}, http: [{ host: ['A.example'] }, { path: ['/x*'], method: ['GET'] }] },
    { http: [] },
  ];
  assert.deepEqual(routesOf([{ match, handle: [{ handler: 'close' }] }])[0]!.match, [
    [
      { kind: 'remote_ip', ranges: ['10.0.0.0/8'] },
      { kind: 'tls', sni: ['*.example.com'], alpn: ['h2'] },
      { kind: 'not', sets: [[{ kind: 'ssh' }]] },
    ],
    [{ kind: 'ssh' }, { kind: 'http', hosts: ['a.example'], paths: [], methods: [] }],
    [{ kind: 'ssh' }, { kind: 'http', hosts: [], paths: ['/x*'], methods: ['GET'] }],
    [{ kind: 'http', hosts: [], paths: [], methods: [] }],
  ]);
});

test('a route that does not end goes on to the routes below it', () => {
  const plan = routesOf([
    { match: [{ remote_ip: { ranges: ['10.0.0.1'] } }], handle: [{ handler: 'proxy_protocol', timeout: '1s' }] },
    { handle: [{ handler: 'echo' }] },
  ]);
  const echo = { match: [], handle: [{ handler: 'echo' }] };
  assert.deepEqual(plan, [
    {
      match: [[{ kind: 'remote_ip', ranges: ['10.0.0.1'] }]],
      handle: [
        { handler: 'proxy_protocol', allow: [], timeoutMs: 1000 },
        { handler: 'subroute', routes: [echo] },
      ],
    },
    echo,
  ]);
});

test('what does little over UDP is told: matching_timeout, and workers all unless sessions are short', () => {
  const warnings = (server: Json): readonly string[] => {
    const srv0 = { listen: ['udp/:53'], routes: [{ handle: [{ handler: 'echo' }] }], ...server };
    return compileJson({ apps: { layer4: { servers: { srv0 } } } }).warnings.map(({ message }) => message);
  };
  assert.deepEqual(warnings({}), []);
  assert.deepEqual(warnings({ workers: 'all', responses: 1 }), []);
  assert.match(warnings({ matching_timeout: '1s' })[0] ?? '', /^matching_timeout has no effect over UDP: /);
  assert.match(warnings({ workers: 'all' })[0] ?? '', /^workers all moves most clients .* write workers one/);
});

test('a route below one that takes everything is warned about', () => {
  const warnings = (routes: Json[]): readonly string[] => {
    const srv0 = { listen: [':3306'], routes };
    return compileJson({ apps: { layer4: { servers: { srv0 } } } }).warnings.map(({ message }) => message);
  };
  const all: Json = { handle: [{ handler: 'echo' }] };
  const some: Json = { handle: [{ handler: 'echo' }], match: [{ ssh: {} }] };
  assert.deepEqual(warnings([some, all]), []);
  assert.deepEqual(warnings([{ handle: [{ handler: 'proxy_protocol' }] }, all]), []);
  assert.match(warnings([some, all, some])[0] ?? '', /^this route is never reached: .*, at .*routes\.2$/);
});

test('affinity without a check names the check of its layer', () => {
  const hashed = (dial: string): Json => ({
    handler: 'proxy',
    upstreams: [{ dial: [dial] }, { dial: [dial.replace('1:', '2:')] }, { dial: [dial.replace('1:', '3:')] }],
    load_balancing: { selection: { policy: 'ip_hash' } },
  });
  const servers = {
    tcp: { listen: [':53'], routes: [{ handle: [hashed('10.0.0.1:53')] }] },
    udp: { listen: ['udp/:53'], routes: [{ handle: [hashed('udp/10.0.0.1:53')] }] },
  };
  const { warnings } = compileJson({ apps: { layer4: { servers } } });
  assert.match(warnings[0]!.message, /Add health tcp, at /);
  assert.match(warnings[1]!.message, /Add health udp or health dns, at /);
});

test('the same routes have the same hash, whatever the server is called', () => {
  const routes = [{ handle: [PROXY] }];
  const servers = { a: { listen: [':1'], routes }, b: { listen: [':2'], routes } };
  const { layer4 } = compileJson({ apps: { layer4: { servers } } }).compiled;
  assert.equal(layer4[0]!.section, layer4[1]!.section);
});

test('tls: names of its matchers and policies get certificates, and any ALPN name may be agreed on', () => {
  const tls = {
    handler: 'tls',
    connection_policies: [{ match: { sni: ['B.localhost'] }, alpn: ['imap'] }, { default_sni: 'c.localhost' }],
  };
  const routes = [{ match: [{ tls: { sni: ['a.localhost', '*.d.localhost'] } }], handle: [tls, PROXY] }];
  const compiled = compile({ routes });
  const names = compiled.tls.certificates.map((spec) => ('name' in spec ? spec.name : ''));
  assert.deepEqual(names, ['a.localhost', '*.d.localhost', 'b.localhost', 'c.localhost']);
  const [handler] = sectionOf(compiled).routes[0]!.handle;
  assert.ok(handler?.handler === 'tls');
  assert.equal(handler.handshakeTimeoutMs, 10_000);
  assert.deepEqual(
    handler.policies.map(({ sni, alpn, defaultSni }) => [sni, alpn, defaultSni]),
    [
      [['b.localhost'], ['imap'], ''],
      [[], [], 'c.localhost'],
    ],
  );
});

test('tls inside of a subroute is for the names that lead there', () => {
  const inner = { handler: 'subroute', routes: [{ handle: [{ handler: 'tls' }, PROXY] }] };
  const compiled = compile({ routes: [{ match: [{ tls: { sni: ['a.localhost'] } }], handle: [inner] }] });
  assert.deepEqual(
    compiled.tls.certificates.map((spec) => ('name' in spec ? spec.name : '')),
    ['a.localhost'],
  );
});

test('TLS to upstreams is part of the transport of their pool, without a protocol', () => {
  const upstream = {
    dial: ['db.test:3306'],
    tls: { server_name: 'Db', insecure_skip_verify: true, handshake_timeout: '1s' },
  };
  const [pool] = compile({ routes: [{ handle: [{ handler: 'proxy', upstreams: [upstream] }] }] }).pools;
  const { tls, http2, h2c } = pool!.section.transport;
  assert.deepEqual(
    [tls?.serverName, tls?.verify, tls?.handshakeTimeoutMs, http2, h2c],
    ['db', false, 1000, undefined, undefined],
  );
});
