import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { TestAuthority, type LeafFiles } from '../../../test/support/certificates.ts';
import { findProgram, runProgram, unlessInstalled } from '../../../test/support/program.ts';
import { makeCredential } from '../../control-plane/certificates/pem.ts';
import type { CertificatePlan, TlsPolicyPlan } from '../../shared/plan/tls.ts';
import { TlsContexts } from './contexts.ts';

const OPENSSL = findProgram('openssl');
const needsOpenssl = { skip: unlessInstalled(OPENSSL, 'openssl') };

const POLICY: TlsPolicyPlan = {
  sni: [],
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  ciphers: 'TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256',
  curves: 'auto',
  alpn: ['http/1.1'],
  clientAuth: null,
  anyTag: [],
  allTags: [],
  defaultSni: '',
  fallbackSni: '',
};

/** What the authority's responder says of the leaf: DER. */
function makeResponse(authority: TestAuthority, leaf: LeafFiles): Buffer {
  const file = (name: string): string => join(authority.folder, name);
  const { serialNumber } = new X509Certificate(leaf.certificate);
  writeFileSync(file('index.txt'), `V\t361231235959Z\t\t${serialNumber}\tunknown\t/CN=a.test\n`);
  writeFileSync(file('root.key'), authority.root.key);
  const signer = ['-CA', authority.rootFile, '-rsigner', authority.rootFile, '-rkey', file('root.key')];
  const question = ['-issuer', authority.rootFile, '-cert', leaf.certificateFile, '-reqout', file('request.der')];
  execFileSync(OPENSSL!, ['ocsp', ...question], { stdio: 'pipe' });
  const answer = ['-reqin', file('request.der'), '-respout', file('response.der'), '-ndays', '1'];
  execFileSync(OPENSSL!, ['ocsp', '-index', file('index.txt'), ...signer, ...answer], { stdio: 'pipe' });
  return readFileSync(file('response.der'));
}

/** Port of a server whose handshakes run in a context for these certificates. */
async function serve(t: TestContext, certificates: readonly CertificatePlan[]): Promise<number> {
  const secured: TLSSocket[] = [];
  const contexts = new TlsContexts({
    onSecure: (socket) => void secured.push(socket.on('error', () => {})),
    onError: () => {},
  });
  const context = contexts.serverFor('policy', POLICY, certificates);
  const server = createServer((socket) => {
    socket.on('error', () => {});
    context.emit('connection', socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of secured) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test(
  'a client that asks for it gets the response of the authority, and openssl takes it for good',
  needsOpenssl,
  async (t) => {
    const authority = await TestAuthority.create(t);
    const leaf = await authority.leaf('a', ['a.test']);
    const ocsp = makeResponse(authority, leaf).toString('base64');
    const port = await serve(t, [{ ...makeCredential(leaf.certificate, leaf.key, []).plan, ocsp }]);
    for (const version of ['-tls1_2', '-tls1_3']) {
      const { stdout } = await runProgram(OPENSSL!, [
        ...['s_client', '-connect', `127.0.0.1:${port}`, '-servername', 'a.test', version, '-status'],
        ...['-CAfile', authority.rootFile],
      ]);
      assert.match(stdout, /OCSP Response Status: successful/, version);
      assert.match(stdout, /Cert Status: good/, version);
    }
  },
);

test('a certificate without a response is served to a client that asks for one', async (t) => {
  const authority = await TestAuthority.create(t);
  const leaf = await authority.leaf('a', ['a.test']);
  const port = await serve(t, [makeCredential(leaf.certificate, leaf.key, []).plan]);
  const options = { port, host: '127.0.0.1', servername: 'a.test', ca: authority.root.certificate, requestOCSP: true };
  const client = connect(options);
  const answered = once(client, 'OCSPResponse');
  await once(client, 'secureConnect');
  const [response] = (await answered) as [Buffer | null];
  assert.equal(response, null);
  client.destroy();
});
