/** Debian's pebble as an authority of a test: it looks at names through its own DNS server, which says 127.0.0.1 for all. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get as getSecure } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { TestAuthority } from './certificates.ts';
import { findProgram, freePort, startProgram, startServer, unlessInstalled, type Program } from './program.ts';

const PEBBLE = findProgram('pebble');
const DNS = findProgram('pebble-challtestsrv');

/** The `skip` option of tests that need it. */
export const skipPebble: false | string =
  unlessInstalled(PEBBLE, 'pebble') || unlessInstalled(DNS, 'pebble-challtestsrv (package pebble)');

export interface PebbleOptions {
  /** Life of certificates. Default a day. */
  readonly lifeSeconds?: number;
  /** Key id → MAC key, base64url; with any an account needs one. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** Per cent of nonces that are refused. Default 30. */
  readonly badNonces?: number;
  readonly ocspUrl?: string;
  /** Default: free ones. */
  readonly httpPort?: number;
  readonly tlsPort?: number;
  readonly port?: number;
}

export interface Pebble {
  readonly directory: string;
  /** File of the root that signed for the directory. */
  readonly rootFile: string;
  /** Ports it looks at for challenges. */
  readonly httpPort: number;
  readonly tlsPort: number;
  /** Where TXT records are set. */
  readonly dnsUrl: string;
  readonly program: Program;
  /** Of the interface that shows its keys, with the root that signed for it, PEM. */
  readonly managementPort: number;
  readonly directoryRoot: string;
  /** PEM of the root its certificates end in. */
  issuingRoot(): Promise<string>;
  /** Ends it; `start` begins anew at the same place, without memory. */
  start(): Promise<void>;
}

/** Another program may take a port between our looking and pebble's: then it is tried again with others. */
export async function startPebble(t: TestContext, options: PebbleOptions = {}): Promise<Pebble> {
  for (let left = 3; ; left -= 1) {
    try {
      const pebble = await startOnce(t, options);
      await pebble.issuingRoot();
      return pebble;
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

async function startOnce(t: TestContext, options: PebbleOptions): Promise<Pebble> {
  const authority = await TestAuthority.create(t, 'Directory Root');
  const leaf = await authority.leaf('pebble', ['localhost', '127.0.0.1']);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-pebble-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [httpPort, tlsPort, port] = [
    options.httpPort ?? (await freePort()),
    options.tlsPort ?? (await freePort()),
    options.port ?? (await freePort()),
  ];
  const [managementPort, dnsPort, dnsAdminPort] = [await freePort(), await freePort(), await freePort()];
  const config = join(folder, 'pebble.json');
  const json = {
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${managementPort}`,
      certificate: leaf.certificateFile,
      privateKey: leaf.keyFile,
      httpPort,
      tlsPort,
      ocspResponderURL: options.ocspUrl ?? '',
      externalAccountBindingRequired: options.bindings !== undefined,
      externalAccountMACKeys: options.bindings ?? {},
      certificateValidityPeriod: options.lifeSeconds ?? 86_400,
    },
  };
  writeFileSync(config, JSON.stringify(json));
  const dns = ['-dns01', `127.0.0.1:${dnsPort}`, '-management', `127.0.0.1:${dnsAdminPort}`];
  const off = ['-defaultIPv4', '127.0.0.1', '-defaultIPv6', '', '-http01', '', '-https01', '', '-tlsalpn01', ''];
  startProgram(t, DNS!, [...dns, ...off]);
  const env = {
    PEBBLE_VA_NOSLEEP: '1',
    PEBBLE_WFE_NONCEREJECT: String(options.badNonces ?? 30),
    PEBBLE_AUTHZREUSE: '0',
  };
  const start = (): Promise<Program> =>
    startServer(t, PEBBLE!, ['-config', config, '-dnsserver', `127.0.0.1:${dnsPort}`], port, { env });
  let program = await start();
  return {
    directory: `https://127.0.0.1:${port}/dir`,
    rootFile: authority.rootFile,
    httpPort,
    tlsPort,
    managementPort,
    directoryRoot: authority.root.certificate,
    dnsUrl: `http://127.0.0.1:${dnsAdminPort}`,
    get program() {
      return program;
    },
    issuingRoot: () => fetchRoot(managementPort, authority.root.certificate),
    start: async () => {
      await program.end();
      program = await start();
    },
  };
}

function fetchRoot(port: number, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    getSecure({ host: '127.0.0.1', port, path: '/roots/0', ca, servername: 'localhost', agent: false }, (response) => {
      resolve(text(response));
    }).on('error', reject);
  });
}
