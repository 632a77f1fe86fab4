import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkConfig } from '../../cli/check-config.ts';
import { makeAuthority } from '../../../test/support/authority.ts';

function faultOf(transport: string, upstream = 'https://a.test'): string {
  const text = `http://:80 {\n\treverse_proxy ${upstream} {\n\t\ttransport http {\n\t\t\t${transport}\n\t\t}\n\t}\n}\n`;
  try {
    checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {});
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

test('files that are not there, hold nothing or too much are named with their line', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-pem-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const empty = join(folder, 'empty.pem');
  const broken = join(folder, 'broken.pem');
  const large = join(folder, 'large.pem');
  writeFileSync(empty, 'nothing here\n');
  writeFileSync(broken, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  writeFileSync(large, 'x'.repeat(3 * 1024 * 1024));
  assert.match(faultOf(`tls_trust_pool file ${folder}/no.pem`), /cannot read .*no\.pem: ENOENT.*, at Caddyfile:4$/);
  assert.match(faultOf(`tls_trust_pool file ${empty}`), /empty\.pem has no certificate: .*, at Caddyfile:4$/);
  assert.match(faultOf(`tls_trusted_ca_certs ${broken}`), /broken\.pem has a certificate that cannot be read/);
  assert.match(faultOf(`tls_trust_pool file ${large}`), /large\.pem is larger than/);
});

test('a key must belong to its certificate', async (t) => {
  const authority = await makeAuthority(t);
  const one = await authority.issue(['one']);
  const other = await authority.issue(['other']);
  assert.equal(faultOf(`tls_client_auth ${one.certFile} ${one.keyFile}`), '');
  assert.match(faultOf(`tls_client_auth ${one.certFile} ${other.keyFile}`), /does not belong .*, at Caddyfile:4$/);
  assert.match(faultOf(`tls_client_auth ${one.certFile} ${one.certFile}`), /no private key that can be read/);
});

test('options outside of their range are refused with their line', () => {
  for (const [option, message] of [
    ['tls_timeout 2h', /a duration from .* at Caddyfile:4$/],
    ['tls_curves x448', /'x25519'.* at Caddyfile:4$/],
    ['tls_except_ports 0', /a port from 1 to 65535.* at Caddyfile:4$/],
    ['tls_except_ports 70000', /a port from 1 to 65535.* at Caddyfile:4$/],
    ['tls_server_name a_b/c', /a host name or an IP address.* at Caddyfile:4$/],
    ['tls_server_name {host}', /a host name or an IP address.* at Caddyfile:4$/],
    ['versions 1.0', /unknown version '1\.0'.* at Caddyfile:4$/],
    ['keepalive_interval 10ms', /a duration from .* at Caddyfile:4$/],
    ['tls_trust_pool inline {\ntrust_der MAo=\n}', /not a certificate.* at Caddyfile:[45]$/],
    ['tls_renegotiation freely', /is not supported yet, at Caddyfile:4$/],
    ['tls_client_auth example.com', /is not supported yet, at Caddyfile:4$/],
  ] as const) {
    assert.match(faultOf(option), message, option);
  }
});

test('authorities are named in one way, and versions fit the scheme', async (t) => {
  const { rootFile } = await makeAuthority(t);
  assert.match(faultOf(`tls_trust_pool file ${rootFile}\ntls_trusted_ca_certs ${rootFile}`), /named in two ways/);
  assert.match(faultOf('versions 2', 'a.test:80'), /version 2 needs TLS: .*, at Caddyfile:4$/);
  assert.equal(faultOf('versions h2c', 'a.test:80'), '');
  assert.equal(faultOf('versions 2'), '');
});

test('a Unix socket behind TLS needs a name for its certificate', () => {
  assert.match(faultOf('tls', 'unix//run/app.sock'), /write tls_server_name, at Caddyfile:[2-4]$/);
  assert.equal(faultOf('tls_server_name a.test', 'unix//run/app.sock'), '');
});
