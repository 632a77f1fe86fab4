import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { get as getSecure } from 'node:https';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { describe, test, type TestContext } from 'node:test';
import { connect } from 'node:tls';
import { childrenOf, readElement } from '../../src/shared/der.ts';
import { acmeConfig, startAcme, waitForCertificate } from '../support/acme-site.ts';
import { eventually } from '../support/backend.ts';
import { skipPebble, startPebble } from '../support/pebble.ts';
import { findProgram, freePort, runProgram, temporaryFolder, unlessInstalled } from '../support/program.ts';

const NAME = 'shop.example.com';
const OPENSSL = findProgram('openssl');

/** Answers by `openssl ocsp` with the key of pebble; every certificate is good, or revoked. */
async function startResponder(
  t: TestContext,
  status: 'V' | 'R',
  keys: () => Promise<{ certificate: string; key: string }>,
): Promise<{ url: string; asked: () => number }> {
  const folder = await temporaryFolder(t);
  let asked = 0;
  const file = (name: string): string => join(folder, name);
  const answer = async (request: Buffer): Promise<Buffer> => {
    const { certificate, key } = await keys();
    // OCSPRequest { tbsRequest { requestList { Request { CertID { …, serialNumber } } } } }
    let element = readElement(request);
    for (let depth = 0; depth < 4; depth += 1) element = childrenOf(element)[0]!;
    const serial = childrenOf(element)[3]!.content.toString('hex').toUpperCase().replace(/^00/, '');
    const revoked = status === 'R' ? '260101000000Z' : '';
    writeFileSync(file('index'), `${status}\t400101000000Z\t${revoked}\t${serial}\tunknown\t/CN=${NAME}\n`);
    writeFileSync(file('ca.pem'), certificate);
    writeFileSync(file('ca.key'), key);
    writeFileSync(file('request'), request);
    const signer = ['-rsigner', file('ca.pem'), '-rkey', file('ca.key'), '-CA', file('ca.pem')];
    const files = ['-index', file('index'), '-reqin', file('request'), '-respout', file('response')];
    const { code, stderr } = await runProgram(OPENSSL!, ['ocsp', ...files, ...signer, '-ndays', '2']);
    assert.equal(code, 0, stderr);
    return buffer((await import('node:fs')).createReadStream(file('response')));
  };
  const server: Server = createServer((request, response) => {
    asked += 1;
    void buffer(request)
      .then(answer)
      .then(
        (body) => response.end(body),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  const port = await freePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${port}`, asked: () => asked };
}

/** The OCSP response stapled to a handshake; null = none. */
function stapled(port: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername: NAME, rejectUnauthorized: false, requestOCSP: true });
    socket.on('OCSPResponse', (response: Buffer | null) => {
      socket.destroy();
      resolve(response);
    });
    socket.on('error', () => resolve(null));
  });
}

function managed(pebblePort: number, path: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    getSecure({ host: '127.0.0.1', port: pebblePort, path, ca, servername: 'localhost', agent: false }, (answer) =>
      resolve(text(answer)),
    ).on('error', reject);
  });
}

const skip = skipPebble || unlessInstalled(OPENSSL, 'openssl');

describe('OCSP stapling (pebble, openssl ocsp)', { skip }, () => {
  for (const [status, word] of [
    ['V', 'good'],
    ['R', 'revoked'],
  ] as const) {
    test(`a response that says ${word} is ${status === 'V' ? 'stapled' : 'not stapled'}`, async (t) => {
      let read: (path: string) => Promise<string> = () => Promise.reject(new Error('pebble is not there yet'));
      const responder = await startResponder(t, status, async () => ({
        certificate: await read('/intermediates/0'),
        key: await read('/intermediate-keys/0'),
      }));
      const pebble = await startPebble(t, { ocspUrl: responder.url });
      read = (path) => managed(pebble.managementPort, path, pebble.directoryRoot);
      await startAcme(t, acmeConfig(pebble));
      await waitForCertificate(pebble.tlsPort, NAME);
      if (status === 'V') {
        await eventually(async () => (await stapled(pebble.tlsPort)) !== null, 'a stapled response', 30_000);
      } else {
        await eventually(() => responder.asked() > 0, 'the question', 30_000);
        assert.equal(await stapled(pebble.tlsPort), null);
      }
    });
  }
});
