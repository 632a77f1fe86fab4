/** A balancer with names whose certificates come from pebble. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { connect, type PeerCertificate } from 'node:tls';
import { eventually } from './backend.ts';
import { startBalancer, type TestBalancer } from './balance.ts';
import type { Pebble } from './pebble.ts';

const TIMEOUT_MS = 60_000;

export function dataFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-data-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export interface AcmeSiteOptions {
  /** Lines of the global block besides those that name the authority. */
  readonly globals?: string;
  /** Default: one site, shop.example.com. */
  readonly sites?: string;
}

export function acmeConfig({ directory, rootFile, httpPort, tlsPort }: Pebble, options: AcmeSiteOptions = {}): string {
  return (
    `{\n\tadmin off\n\thttp_port ${httpPort}\n\thttps_port ${tlsPort}\n\tdefault_bind 127.0.0.1\n` +
    `\tacme_ca ${directory}\n\tacme_ca_root ${rootFile}\n${options.globals ?? ''}\n}\n` +
    (options.sites ?? 'shop.example.com {\n\trespond "from the shop"\n}\n')
  );
}

/** It tries again after half a second. */
export async function startAcme(t: TestContext, config: string, dataDir?: string): Promise<TestBalancer> {
  const balancer = await startBalancer(t, config, { dataDir: dataDir ?? dataFolder(t), certificateRetryMs: 500 });
  balancer.on('certificate-failed', ({ message }) => t.diagnostic(message));
  return balancer;
}

/** What is shown for a name; null = the handshake failed, or the certificate is not of `ca`. */
export async function shownCertificate(port: number, servername: string, ca?: string): Promise<PeerCertificate | null> {
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
  const socket = connect({ host: '127.0.0.1', port, servername, ...trust });
  socket.on('error', () => {});
  try {
    await once(socket, 'secureConnect');
    return socket.getPeerCertificate(true);
  } catch {
    return null;
  } finally {
    socket.destroy();
  }
}

/** Waits until one is shown that `isWanted` takes. */
export async function waitForCertificate(
  port: number,
  name: string,
  isWanted: (certificate: PeerCertificate) => boolean = () => true,
): Promise<PeerCertificate> {
  let found: PeerCertificate | null = null;
  const look = async (): Promise<boolean> => {
    found = await shownCertificate(port, name);
    return found !== null && isWanted(found);
  };
  await eventually(look, `a certificate of ${name}`, TIMEOUT_MS);
  return found!;
}
