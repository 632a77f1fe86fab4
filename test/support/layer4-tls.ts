/** Layer-4 servers that end TLS with certificates of the authority of their own. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect as dial, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { BalancerOptions } from '../../src/index.ts';
import { startBalancer, type TestBalancer } from './balance.ts';
import { layer4 } from './layer4-site.ts';
import { RawClient } from './raw-client.ts';

export interface TlsFrontend extends TestBalancer {
  /** PEM of the authority. */
  readonly root: string;
  /** Messages and details of the log. */
  readonly said: readonly string[];
}

/** `body` stands in the server; names of its `tls` handlers should be local ones. */
export async function startLayer4Tls(
  t: TestContext,
  body: string,
  options: Partial<BalancerOptions> = {},
): Promise<TlsFrontend> {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-data-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const { log, said } = listeningLog();
  const balancer = await startBalancer(t, layer4(body), { dataDir, log, ...options });
  return Object.assign(balancer, {
    root: readFileSync(join(dataDir, 'pki/authorities/local/root.crt'), 'utf8'),
    said,
  });
}

/** A log that remembers. */
export function listeningLog(): { readonly log: NonNullable<BalancerOptions['log']>; readonly said: string[] } {
  const said: string[] = [];
  const say = (level: string) => (message: string, fields?: object) =>
    void said.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
  return { log: { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }, said };
}

export interface SecureClient {
  readonly client: RawClient;
  readonly socket: TLSSocket;
}

/** A client that half-closes; closed with the test. Rejects with the error that ended the handshake. */
export async function connectSecure(t: TestContext, port: number, options: ConnectionOptions): Promise<SecureClient> {
  const raw =
    options.socket instanceof Socket ? options.socket : dial({ port, host: '127.0.0.1', allowHalfOpen: true });
  const socket = connect({ ...options, socket: raw });
  t.after(() => {
    socket.destroy();
    raw.destroy();
  });
  await once(socket, 'secureConnect');
  return { client: new RawClient(socket), socket };
}

export async function connectTls(t: TestContext, port: number, options: ConnectionOptions): Promise<RawClient> {
  return (await connectSecure(t, port, options)).client;
}
