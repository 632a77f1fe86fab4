/** TLS and HTTP versions of a transport: files are read here, and everything is tried that a worker will do with them. */
import { X509Certificate } from 'node:crypto';
import { unixPath } from '../../shared/net/address.ts';
import { createUpstreamContext } from '../../shared/net/upstream-tls.ts';
import type { TransportPlan } from '../../shared/plan/types.ts';
import type { ClientCertificatePlan, UpstreamTlsPlan } from '../../shared/plan/upstream-tls.ts';
import type { TransportConfig } from '../config/schema/transport.ts';
import type { Curve, UpstreamTlsConfig } from '../config/schema/upstream-tls.ts';
import type { Compilation } from './compilation.ts';
import type { MemberSpec } from './compiled.ts';
import { hashContent } from './content-hash.ts';
import { readKey, readWatched } from './pem-files.ts';

/** OpenSSL's names. */
const GROUPS: Readonly<Record<Curve, string>> = {
  x25519: 'X25519',
  x25519mlkem768: 'X25519MLKEM768',
  secp256r1: 'P-256',
  secp384r1: 'P-384',
  secp521r1: 'P-521',
};

/** The parts of a plan that say how upstreams are spoken to. `path` is the JSON path of the transport. */
export function compileSpoken(
  run: Compilation,
  path: string,
  config: TransportConfig,
  members: readonly MemberSpec[],
): Pick<TransportPlan, 'tls' | 'http2' | 'h2c'> {
  const { tls, versions } = config;
  const h2c = versions.includes('h2c') ? ({ h2c: true } as const) : {};
  if (tls === null) {
    if (versions.length === 1 && versions[0] === '2') {
      run.fail(`${path}.versions`, 'version 2 needs TLS: write https:// or tls, or h2c for HTTP/2 in the clear');
    }
    return h2c;
  }
  const plan = compileTls(run, `${path}.tls`, tls);
  for (const { host, upstream } of members) {
    if (unixPath(host) !== null && plan.serverName === '' && plan.verify) {
      run.fail(`${path}.tls`, `${upstream} has no host that its certificate could be for: write tls_server_name`);
    }
  }
  const http2 = http2Of(versions);
  return { tls: plan, ...(http2 === null ? {} : { http2 }), ...h2c };
}

/** As Caddy: without a word on it, HTTP/2 where the upstream agrees. */
function http2Of(versions: readonly string[]): 'offer' | 'only' | null {
  if (versions.length === 0) return 'offer';
  const one = versions.includes('1.1');
  const two = versions.includes('2') || versions.includes('h2c');
  if (two) return one ? 'offer' : 'only';
  return null;
}

function compileTls(run: Compilation, path: string, config: UpstreamTlsConfig): UpstreamTlsPlan {
  const content: Omit<UpstreamTlsPlan, 'identity'> = {
    verify: !config.insecure_skip_verify,
    serverName: config.server_name.toLowerCase(),
    trusted: compileTrusted(run, path, config),
    certificate: compileCertificate(run, path, config),
    handshakeTimeoutMs: config.handshake_timeout,
    curves: config.curves.map((curve) => GROUPS[curve]).join(':'),
    exceptPorts: config.except_ports,
  };
  const plan = { identity: hashContent(content), ...content };
  try {
    // What the system trusts is no matter of this config.
    createUpstreamContext(plan, () => []);
  } catch (error) {
    run.fail(path, `TLS to upstreams cannot be set up: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!plan.verify) {
    const what = 'certificates of upstreams are not checked: whoever is in between can read and change everything';
    run.warn(`${path}.insecure_skip_verify`, 'tls_insecure_skip_verify', `${what}; tls_trust_pool is the safe way`);
  }
  return plan;
}

/** null = what the system trusts. */
function compileTrusted(run: Compilation, path: string, config: UpstreamTlsConfig): readonly string[] | null {
  const { ca, root_ca_pem_files: files, root_ca_pool: pool } = config;
  const named = [ca !== null, files.length > 0, pool.length > 0].filter(Boolean).length;
  if (named === 0) return null;
  if (named > 1) run.fail(path, 'trusted authorities are named in two ways: write tls_trust_pool alone');
  if (ca === null) {
    if (files.length === 0) return readInline(run, `${path}.root_ca_pool`, pool);
    return files.flatMap((file, index) => readWatched(run, `${path}.root_ca_pem_files.${index}`, file));
  }
  if (ca.provider === 'inline') return readInline(run, `${path}.ca.trusted_ca_certs`, ca.trusted_ca_certs);
  if (ca.pem_files.length === 0) run.fail(`${path}.ca`, 'the trust pool names no PEM files');
  return ca.pem_files.flatMap((file, index) => readWatched(run, `${path}.ca.pem_files.${index}`, file));
}

function readInline(run: Compilation, path: string, texts: readonly string[]): readonly string[] {
  if (texts.length === 0) run.fail(path, 'the trust pool has no certificates');
  return texts.map((text, index) => {
    try {
      return new X509Certificate(Buffer.from(text, 'base64')).toString();
    } catch {
      return run.fail(`${path}.${index}`, 'not a certificate: it should be DER in base64');
    }
  });
}

function compileCertificate(run: Compilation, path: string, config: UpstreamTlsConfig): ClientCertificatePlan | null {
  const { client_certificate_file: file, client_certificate_key_file: keyFile } = config;
  if (file === '' && keyFile === '') return null;
  if (file === '' || keyFile === '') run.fail(path, 'a client certificate needs two files: certificate and key');
  const chain = readWatched(run, `${path}.client_certificate_file`, file);
  run.watchedFiles.add(keyFile);
  const key = readKey(run, `${path}.client_certificate_key_file`, keyFile, chain[0] ?? '');
  return { chain: chain.join('\n'), key };
}
