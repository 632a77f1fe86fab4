/** Caddy as an authority (`acme_server`), which looks at ports 80 and 443: in a network namespace they are free. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'node:test';
import { eventually } from '../support/backend.ts';
import { makeNamespace, unlessNamespaces } from '../support/namespace.ts';
import { findProgram, temporaryFolder } from '../support/program.ts';

const HOLDFAST = fileURLToPath(new URL('../../bin/holdfast.js', import.meta.url));
const TIMEOUT_MS = 60_000;
const skip = await unlessNamespaces('caddy', 'curl');

describe('Caddy as an authority', { skip }, () => {
  for (const [challenge, disabled] of [
    ['HTTP-01', 'disable_tlsalpn_challenge'],
    ['TLS-ALPN-01', 'disable_http_challenge'],
  ] as const) {
    test(`issues a certificate by ${challenge}, and curl trusts it`, async (t) => {
      const namespace = await makeNamespace(t, `acme-${challenge.toLowerCase()}`);
      const folder = await temporaryFolder(t);
      const root = join(folder, 'caddy', 'pki/authorities/local/root.crt');
      const authority =
        `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tstorage file_system ${join(folder, 'caddy')}\n}\n` +
        'https://localhost:8443 {\n\ttls internal\n\tacme_server\n}\n';
      const site =
        `{\n\tadmin off\n\tstorage file_system ${join(folder, 'holdfast')}\n}\nlocalhost {\n\ttls {\n\t\tissuer acme ` +
        `https://localhost:8443/acme/local/directory {\n\t\t\ttrusted_roots ${root}\n\t\t\t${disabled}\n\t\t}\n\t}\n\trespond "issued by Caddy"\n}\n`;
      const [authorityFile, siteFile] = [join(folder, 'authority'), join(folder, 'Caddyfile')];
      await writeFile(authorityFile, authority);
      await writeFile(siteFile, site);
      namespace.start(findProgram('caddy')!, 'run', '--adapter', 'caddyfile', '--config', authorityFile);
      await eventually(() => Promise.resolve(existsSync(root)), 'the root of Caddy', TIMEOUT_MS);
      const curl = (url: string): Promise<{ code: number | null; stdout: string; stderr: string }> =>
        namespace.run('curl', '-sS', '--cacert', root, url);
      await eventually(async () => (await curl('https://localhost:8443/')).code === 0, 'Caddy', TIMEOUT_MS);
      const run = namespace.start(process.execPath, HOLDFAST, 'run', '--config', siteFile);
      await eventually(
        async () => (await curl('https://localhost/')).code === 0,
        `a certificate: ${run.output()}`,
        TIMEOUT_MS,
      );
      assert.equal((await curl('https://localhost/')).stdout, 'issued by Caddy');
    });
  }
});
