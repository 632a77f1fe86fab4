/** ACME issuers, compiled: who is asked, and how control of a name is shown. */
import { parseIp } from '../../../shared/net/ip.ts';
import { ZERO_SSL, type AcmeIssuerConfig } from '../../config/schema/acme-issuer.ts';
import type { Compilation } from '../compilation.ts';
import type { AcmeIssuerSpec, ChallengeType } from '../managed-specs.ts';
import { readCertificates } from '../pem-files.ts';
import { isInternalName } from './subjects.ts';

/** What the servers of a config can answer. */
export interface ChallengeWays {
  /** A server listens in the clear on the HTTP port, or on this one. */
  hasPlainListener(alternatePort: number | null): boolean;
  readonly hasTlsListener: boolean;
}

export interface WantedName {
  /** '' = names that are not known yet. */
  readonly name: string;
  /** JSON path of where it was written. */
  readonly path: string;
}

export function compileAcme(
  run: Compilation,
  path: string,
  config: AcmeIssuerConfig,
  wanted: WantedName,
  ways: ChallengeWays,
): AcmeIssuerSpec {
  const { dns } = config.challenges;
  const eab = config.external_account;
  refuseName(run, wanted, config);
  if (config.ca === ZERO_SSL && eab === null && config.email === '') {
    run.fail(path, 'ZeroSSL wants to know whose account it is: write email, or eab with a key id and a MAC key');
  }
  return {
    kind: 'acme',
    directory: config.ca,
    email: config.email,
    profile: config.profile,
    eab: eab === null ? null : { keyId: eab.key_id, macKey: eab.mac_key.replace(/=+$/, '') },
    trustedRoots: config.trusted_roots_pem_files.flatMap((file, at) =>
      readCertificates(run, `${path}.trusted_roots_pem_files.${at}`, file),
    ),
    challenges: challengesOf(run, path, config, wanted, ways),
    dns: dns === null ? null : { program: dns.provider.program, propagationDelayMs: dns.propagation_delay },
    timeoutMs: config.acme_timeout,
  };
}

function refuseName(run: Compilation, { name, path }: WantedName, { ca }: AcmeIssuerConfig): void {
  if (name === '') return;
  if (parseIp(name) !== null) {
    run.fail(path, `${name} is an IP address, and ACME for addresses is not supported yet: write tls internal`);
  }
  if (new URL(ca).hostname.endsWith('letsencrypt.org') && isInternalName(name)) {
    run.fail(
      path,
      `${name} is no name of the public internet, so ${new URL(ca).hostname} does not sign for it: write tls internal`,
    );
  }
}

/** As in Caddy, who has DNS-01 uses nothing else. */
function challengesOf(
  run: Compilation,
  path: string,
  { challenges }: AcmeIssuerConfig,
  { name, path: namePath }: WantedName,
  ways: ChallengeWays,
): readonly ChallengeType[] {
  if (challenges.dns !== null) return ['dns-01'];
  if (name.startsWith('*.')) {
    run.fail(
      namePath,
      `${name} is a wildcard, and authorities sign for one only by the DNS challenge: ` +
        'write tls { dns hook <program> }, or tls <certificate> <key>, or tls internal',
    );
  }
  const { http, 'tls-alpn': tlsAlpn } = challenges;
  const types: ChallengeType[] = [];
  if (!http.disabled && ways.hasPlainListener(http.alternate_port)) types.push('http-01');
  if (!tlsAlpn.disabled && ways.hasTlsListener) types.push('tls-alpn-01');
  if (types.length === 0) {
    run.fail(
      path,
      'no challenge is left: every one is disabled, or no server could answer it (HTTP-01 needs one on the HTTP port)',
    );
  }
  return types;
}
