/** Which connection policy a handshake is held to, how long it may take, and what access lines tell of it. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { ConnectionOptions } from 'node:tls';
import { startBalancer, type TestBalancer } from '../support/balance.ts';
import { eventually } from '../support/backend.ts';
import { TestAuthority } from '../support/certificates.ts';
import { openClient } from '../support/raw-client.ts';
import { getTls } from '../support/tls-client.ts';
import { startTlsSite } from '../support/tls-site.ts';

interface Policies {
  readonly balancer: TestBalancer;
  /** Speaks TLS up to 1.3 unless told otherwise. */
  trusting(servername: string): ConnectionOptions;
}

/** A server for `*.shop.test` that tells the version which was agreed; each policy has one of its own. */
async function start(t: TestContext, policies: readonly object[]): Promise<Policies> {
  const authority = await TestAuthority.create(t);
  const { certificateFile, keyFile } = await authority.leaf('any', ['*.shop.test']);
  const balancer = await startBalancer(t, {
    admin: { disabled: true },
    apps: {
      http: {
        servers: {
          srv0: {
            listen: ['127.0.0.1:0'],
            automatic_https: { disable_redirects: true, disable_certificates: true },
            tls_connection_policies: policies,
            routes: [{ handle: [{ handler: 'static_response', body: '{http.request.tls.version}' }] }],
          },
        },
      },
      tls: { certificates: { load_files: [{ certificate: certificateFile, key: keyFile }] } },
    },
  });
  return {
    balancer,
    trusting: (servername) => ({ ca: authority.root.certificate, servername }),
  };
}

const OLD = { protocol_max: 'tls1.2' };

describe('a policy is for', () => {
  test('names that match an expression', async (t) => {
    const { balancer, trusting } = await start(t, [
      { match: { sni_regexp: { pattern: '^old-[0-9]+\\.' } }, ...OLD },
      {},
    ]);
    assert.equal((await getTls(balancer.port, trusting('old-12.shop.test'))).body, 'tls1.2');
    assert.equal((await getTls(balancer.port, trusting('old-x.shop.test'))).body, 'tls1.3');
  });

  test('peers in a range and in no other', async (t) => {
    const held = await start(t, [{ match: { remote_ip: { ranges: ['127.0.0.0/8'] } }, ...OLD }, {}]);
    assert.equal((await getTls(held.balancer.port, held.trusting('a.shop.test'))).body, 'tls1.2');
    const except = { ranges: ['127.0.0.0/8'], not_ranges: ['127.0.0.1'] };
    const free = await start(t, [{ match: { remote_ip: except }, ...OLD }, {}]);
    assert.equal((await getTls(free.balancer.port, free.trusting('a.shop.test'))).body, 'tls1.3');
    const other = { ...free.trusting('a.shop.test'), localAddress: '127.0.0.2' };
    assert.equal((await getTls(free.balancer.port, other)).body, 'tls1.2');
  });

  test('addresses a connection came in on', async (t) => {
    for (const [range, version] of [
      ['127.0.0.1', 'tls1.2'],
      ['10.0.0.0/8', 'tls1.3'],
    ] as const) {
      const { balancer, trusting } = await start(t, [{ match: { local_ip: { ranges: [range] } }, ...OLD }, {}]);
      assert.equal((await getTls(balancer.port, trusting('a.shop.test'))).body, version, range);
    }
  });

  test('what matches all it says; a handshake that none is for is refused', async (t) => {
    const match = { sni: ['a.shop.test'], remote_ip: { ranges: ['10.0.0.0/8'] } };
    const { balancer, trusting } = await start(t, [{ match }]);
    await assert.rejects(getTls(balancer.port, trusting('a.shop.test')), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' });
  });

  test('an expression or a range that is none is told with its path', async (t) => {
    await assert.rejects(start(t, [{ match: { sni_regexp: { pattern: '(' } } }]), /sni_regexp.*regular expression/s);
    await assert.rejects(start(t, [{ match: { remote_ip: { ranges: ['lan'] } } }]), /remote_ip.*an IP address/s);
  });
});

describe('timeouts { tls_handshake }', () => {
  test('a handshake that takes longer is reset, and one that is done is not', async (t) => {
    const globals = '\tservers {\n\t\ttimeouts {\n\t\t\ttls_handshake 300ms\n\t\t}\n\t}';
    const { port, balancer, trusting } = await startTlsSite(t, { globals });
    const slow = await openClient(port);
    slow.send('\x16\x03\x01');
    assert.equal(await slow.ended(), 'reset');
    const silent = await openClient(port);
    assert.equal(await silent.ended(), 'reset');
    assert.equal((await getTls(port, trusting)).body, 'ok');
    assert.match(await balancer.metrics(), /holdfast_tls_handshakes_total\{server="srv0",result="failed"\} 2/);
  });

  test('zero and words are refused with their line', async (t) => {
    for (const value of ['0', 'soon']) {
      const globals = `\tservers {\n\t\ttimeouts {\n\t\t\ttls_handshake ${value}\n\t\t}\n\t}`;
      await assert.rejects(startTlsSite(t, { globals }), /Caddyfile:\d+/, value);
    }
  });
});

describe('access lines over TLS', () => {
  test('tell version, suite, protocol, name, and whether the session was resumed', async (t) => {
    const { port, balancer, trusting } = await startTlsSite(t, { body: '\tlog\n\trespond ok' });
    await getTls(port, { ...trusting, maxVersion: 'TLSv1.2' });
    await eventually(() => balancer.accessLines.length === 1, 'a line');
    const [line] = balancer.accessLines;
    assert.equal(line!['tls_version'], 'tls1.2');
    assert.match(String(line!['tls_cipher_suite']), /^TLS_ECDHE_ECDSA_WITH_/);
    assert.equal(line!['tls_proto'], 'http/1.1');
    assert.equal(line!['tls_server_name'], 'a.test');
    assert.equal(line!['tls_resumed'], false);
  });

  test('leave that out when the log says so, in the words of Caddy', async (t) => {
    const log =
      '\tlog {\n\t\tformat filter {\n\t\t\trequest>tls>version delete\n\t\t\ttls_server_name hash\n\t\t}\n\t}\n';
    const { port, balancer, trusting } = await startTlsSite(t, { body: `${log}\trespond ok` });
    await getTls(port, trusting);
    await eventually(() => balancer.accessLines.length === 1, 'a line');
    const [line] = balancer.accessLines;
    assert.equal(Object.hasOwn(line!, 'tls_version'), false);
    assert.match(String(line!['tls_server_name']), /^[0-9a-f]{8}$/);
    const none = await startTlsSite(t, {
      body: '\tlog {\n\t\tformat filter {\n\t\t\trequest>tls delete\n\t\t}\n\t}\n\trespond ok',
    });
    await getTls(none.port, none.trusting);
    await eventually(() => none.balancer.accessLines.length === 1, 'a line');
    assert.deepEqual(
      Object.keys(none.balancer.accessLines[0]!).filter((name) => name.startsWith('tls_')),
      [],
    );
  });
});
