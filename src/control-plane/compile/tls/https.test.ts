import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at, compileJson, configOf, proxy } from '../../../../test/support/config-fixtures.ts';
import type { Json } from '../../../../test/support/config-fixtures.ts';

const site = (...host: string[]): Json => ({ match: [{ host }], handle: [proxy(['app:80'])], terminal: true });
const positions = new Map([
  ['apps.http.servers.srv0', at(1)],
  ['apps.http.servers.srv0.routes.0', at(1)],
  ['apps.http.servers.srv0.routes.1', at(6)],
]);

type Result = ReturnType<typeof compileJson>;

function compile(server: Json, http: Json = {}, apps: Json = {}): Result {
  return compileJson({ apps: { http: { ...http, servers: { srv0: server } }, ...apps } }, { positions });
}

const tlsListeners = ({ compiled }: Result): readonly string[] => compiled.servers[0]?.tls?.listeners ?? [];
const issued = ({ compiled }: Result): string[] =>
  compiled.tls.certificates.flatMap((spec) => (spec.source === 'internal' ? [spec.name] : []));

describe('who speaks TLS', () => {
  test('a host does, with a certificate of the local authority where no public one signs', () => {
    const names = ['localhost', 'a.localhost', 'printer.local', 'db.internal', 'nas.home.arpa', '10.0.0.1', '::1'];
    const result = compile({ listen: [':443'], routes: [site(...names)] });
    assert.deepEqual(tlsListeners(result), ['tcp/:443']);
    assert.deepEqual(issued(result), names);
    assert.deepEqual(
      result.compiled.tls.authorities.map(({ id }) => id),
      ['local'],
    );
  });

  test('a public name has a certificate of a public authority, unless somebody says otherwise', () => {
    const server = { listen: [':443'], routes: [site('localhost'), site('example.com')] };
    const managed = compile(server).compiled.tls.certificates.find(({ source }) => source === 'acme');
    assert.ok(managed?.source === 'acme');
    const [issuer] = managed.issuers;
    assert.ok(issuer?.kind === 'acme');
    assert.equal(managed.name, 'example.com');
    assert.equal(issuer.directory, 'https://acme-v02.api.letsencrypt.org/directory');
    // The server of the redirects listens on the HTTP port.
    assert.deepEqual(issuer.challenges, ['http-01', 'tls-alpn-01']);
    const policies = [{ subjects: ['*.com'], issuers: [{ module: 'internal', lifetime: '1h' }] }];
    const internal = compile(server, {}, { tls: { automation: { policies } } });
    assert.deepEqual(issued(internal), ['localhost', 'example.com']);
    assert.deepEqual(issued(compile({ ...server, automatic_https: { disable_certificates: true } })), []);
    const skipped = { skip_certificates: ['Example.com'] };
    assert.deepEqual(issued(compile({ ...server, automatic_https: skipped })), ['localhost']);
  });

  test('a wildcard needs the DNS challenge, and a name without any challenge is refused', () => {
    const server = { listen: [':443'], routes: [site('localhost'), site('*.example.com')] };
    assert.throws(() => compile(server), {
      message:
        /^\*\.example\.com is a wildcard, and authorities sign for one only by the DNS challenge: .*, at Caddyfile:6$/,
      position: at(6),
    });
    const dns = { provider: { name: 'hook', program: '/bin/zone' } };
    const policies = [{ issuers: [{ module: 'acme', challenges: { dns } }] }];
    const { tls } = compile(
      server,
      {},
      { tls: { automation: { policies: [{ subjects: ['*.example.com'], ...policies[0] }] } } },
    ).compiled;
    const managed = tls.certificates.find(({ source }) => source === 'acme');
    assert.deepEqual(
      managed?.source === 'acme' && managed.issuers.map((issuer) => issuer.kind === 'acme' && issuer.challenges),
      [['dns-01']],
    );
    assert.deepEqual(
      tls.issuance.programs.map(({ path }) => path),
      ['/bin/zone'],
    );
    const none = { challenges: { http: { disabled: true }, 'tls-alpn': { disabled: true } } };
    const disabled = { tls: { automation: { policies: [{ issuers: [{ module: 'acme', ...none }] }] } } };
    assert.throws(() => compile({ ...server, routes: [site('example.com')] }, {}, disabled), /no challenge is left/);
  });

  test('only servers that an authority may look at answer challenges, in front of their own sites', () => {
    const { servers } = compile({ listen: [':443'], routes: [site('example.com')] }).compiled;
    assert.deepEqual(
      servers.map(({ sites, tls }) => [sites.length, tls?.asks ?? null]),
      [
        [1, 'challenges'],
        [3, null],
      ],
    );
    const local = compile({ listen: [':443'], routes: [site('localhost')] }).compiled;
    assert.deepEqual(
      local.servers.map(({ sites, tls }) => [sites.length, tls?.asks ?? null]),
      [
        [1, null],
        [2, null],
      ],
    );
  });

  test('the HTTPS port alone asks for TLS, even without a host', () => {
    assert.deepEqual(tlsListeners(compile({ listen: [':443'], routes: [{ handle: [] }] })), ['tcp/:443']);
    const moved = compile({ listen: [':8443'], routes: [] }, { https_port: 8443 });
    assert.deepEqual(tlsListeners(moved), ['tcp/:8443']);
  });

  test('a listener on the HTTP port of such a server stays plain', () => {
    const result = compile({ listen: [':80', ':443'], routes: [site('localhost')] });
    assert.deepEqual(tlsListeners(result), ['tcp/:443']);
  });

  test('what Caddy serves as plain HTTP is plain here', () => {
    const plain: readonly (readonly [string, Json, Json])[] = [
      ['HTTP port', { listen: [':80'], routes: [site('example.com')] }, {}],
      ['moved HTTP port', { listen: [':8080'], routes: [site('example.com')] }, { http_port: 8080 }],
      ['no host', { listen: [':8080'], routes: [{ handle: [] }] }, {}],
      ['skipped host', { listen: [':8080'], routes: [site('a.test')], automatic_https: { skip: ['A.test'] } }, {}],
      ['host that gets no certificate', { listen: [':8080'], routes: [site('a.test.')] }, {}],
    ];
    for (const [name, server, http] of plain) {
      const result = compile(server, http);
      assert.deepEqual(tlsListeners(result), [], name);
      assert.equal(result.compiled.servers.length, 1, name);
      assert.deepEqual(
        result.warnings.filter(({ directive }) => directive === 'auto_https'),
        [],
        name,
      );
    }
  });

  test('with auto_https off a bare host is plain HTTP on the HTTPS port, and a warning says so', () => {
    const server = { listen: [':443'], routes: [site('example.com')], automatic_https: { disable: true } };
    const result = compile(server);
    assert.deepEqual(tlsListeners(result), []);
    assert.deepEqual(result.warnings[0], {
      file: 'Caddyfile',
      line: 1,
      directive: 'auto_https',
      message:
        'example.com is served as plain HTTP on port 443, because auto_https is off: ' +
        'write http:// in front of the address to use the HTTP port',
    });
    assert.deepEqual(compileJson(configOf([proxy(['app:80'])], { automatic_https: { disable: true } })).warnings, []);
  });

  test('with auto_https off TLS policies still mean TLS', () => {
    const server = { listen: [':443'], automatic_https: { disable: true }, tls_connection_policies: [{}] };
    const result = compile(server);
    assert.deepEqual(tlsListeners(result), ['tcp/:443']);
    assert.equal(result.compiled.servers.length, 1);
  });
});

describe('redirects', () => {
  const serversOf = ({ compiled }: Result): (readonly [string, readonly string[], number])[] =>
    compiled.servers.map(({ name, listeners, sites }) => [name, listeners, sites.length]);

  test('a server of its own takes them when nobody listens on the HTTP port', () => {
    const result = compile({ listen: ['127.0.0.1:443'], routes: [site('localhost')] });
    assert.deepEqual(serversOf(result), [
      ['srv0', ['tcp/127.0.0.1:443'], 1],
      ['remaining_auto_https_redirects', ['tcp/127.0.0.1:80'], 2],
    ]);
  });

  test('a server that listens there takes them behind its hosts and before what is for all', () => {
    const servers = {
      srv0: { listen: [':443'], routes: [site('localhost')] },
      srv1: { listen: [':80'], routes: [site('plain.test'), { handle: [proxy(['all:80'])] }] },
    };
    const { compiled } = compileJson({ apps: { http: { servers } } }, {});
    assert.deepEqual(
      compiled.servers.map(({ name }) => name),
      ['srv0', 'srv1'],
    );
    const kinds = compiled.servers[1]!.sites.map((hash) => {
      const section = compiled.sections.get(hash);
      return section?.kind === 'site' ? section.route.handle[0]?.handler : '';
    });
    assert.deepEqual(kinds, ['reverse_proxy', 'static_response', 'static_response', 'reverse_proxy']);
  });

  test('none are made where they are turned off', () => {
    const server = { listen: [':443'], routes: [site('localhost')], automatic_https: { disable_redirects: true } };
    assert.deepEqual(serversOf(compile(server)), [['srv0', ['tcp/:443'], 1]]);
  });
});

describe('policies', () => {
  const policyOf = (policy: Json): unknown =>
    compile({ listen: [':443'], tls_connection_policies: [policy], automatic_https: { disable: true } }).compiled
      .servers[0]?.tls?.policies[0];

  test('defaults are modern', () => {
    assert.deepEqual(policyOf({}), {
      sni: [],
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.3',
      ciphers:
        'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:' +
        'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:' +
        'ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305',
      curves: 'auto',
      alpn: ['h2', 'http/1.1'],
      clientAuth: null,
      anyTag: [],
      allTags: [],
      defaultSni: '',
      fallbackSni: '',
    });
  });

  test('what makes no sense is refused', () => {
    assert.throws(() => policyOf({ protocol_min: 'tls1.3', protocol_max: 'tls1.2' }), /protocol_min tls1\.3 is above/);
    assert.throws(() => policyOf({ protocol_min: 'tls1.1' }), /'tls1\.2' or 'tls1\.3'/);
    assert.throws(() => policyOf({ cipher_suites: ['RC4'] }), /TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256/);
    assert.throws(() => policyOf({ alpn: ['spdy'] }), /'spdy' is no protocol that is served/);
    assert.throws(() => policyOf({ client_authentication: { mode: 'require_and_verify' } }), /needs a trust_pool/);
    const pool = { trusted_ca_certs: ['AAAA'] };
    assert.throws(() => policyOf({ client_authentication: pool }), /a trusted certificate cannot be read/);
  });

  test('a Host that differs from the handshake is refused only where clients show certificates', () => {
    const strict = (server: Json): boolean | undefined =>
      compile({ listen: [':443'], automatic_https: { disable: true }, ...server }).compiled.servers[0]?.tls
        ?.strictSniHost;
    const asks = [{ client_authentication: { mode: 'require' } }];
    assert.equal(strict({ tls_connection_policies: [{}] }), false);
    assert.equal(strict({ tls_connection_policies: asks }), true);
    assert.equal(strict({ tls_connection_policies: asks, strict_sni_host: false }), false);
    assert.equal(strict({ tls_connection_policies: [{}], strict_sni_host: true }), true);
  });
});
