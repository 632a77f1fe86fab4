/** Who issues the certificates that nobody brought along. */
import { matchesName } from '../../../shared/net/host-pattern.ts';
import { describePlace } from '../../config/positions.ts';
import type { Config } from '../../config/schema/config.ts';
import { defaultAuthority, LOCAL_AUTHORITY } from '../../config/schema/tls-app.ts';
import type { AuthorityConfig, InternalIssuerConfig } from '../../config/schema/tls-app.ts';
import type { Compilation } from '../compilation.ts';
import type { AuthoritySpec, CertificateSpec } from '../compiled.ts';
import { readCertificates, readKey } from '../pem-files.ts';
import { isInternalName } from './subjects.ts';

const INTERNAL: InternalIssuerConfig = Object.freeze({
  module: 'internal',
  ca: LOCAL_AUTHORITY,
  lifetime: 12 * 3_600_000,
  sign_with_root: false,
});

/** Names to be managed, each with the JSON path it was written at. */
export type ManagedNames = ReadonlyMap<string, string>;

/** Throws for a name whose certificate only a public authority can issue. */
export function compileIssuance(run: Compilation, { apps }: Config, names: ManagedNames): CertificateSpec[] {
  const { policies } = apps.tls.automation;
  return [...names].map(([name, path]) => {
    const own = policies.find(({ subjects }) => subjects.some((subject) => matchesName(subject.toLowerCase(), name)));
    const policy = own ?? policies.find(({ subjects }) => subjects.length === 0);
    const issuer = policy?.issuers[0] ?? (isInternalName(name) ? INTERNAL : null);
    if (issuer === null) return refusePublic(run, path, name);
    return {
      source: 'internal',
      name,
      authority: issuer.ca,
      lifetimeMs: issuer.lifetime,
      signWithRoot: issuer.sign_with_root,
      place: describePlace(run.context.positions, path),
    };
  });
}

function refusePublic(run: Compilation, path: string, name: string): never {
  return run.fail(
    path,
    `${name} needs HTTPS with a certificate of a public authority, and getting one (ACME) is not supported yet: ` +
      `write tls internal, or tls <certificate> <key>, or http://${name}`,
  );
}

/** The authorities that `specs` name, described or not. */
export function compileAuthorities(
  run: Compilation,
  { apps }: Config,
  specs: readonly CertificateSpec[],
): AuthoritySpec[] {
  const described = apps.pki.certificate_authorities;
  const named = specs.flatMap((spec) => (spec.source === 'internal' ? [spec.authority] : []));
  const ids = new Set([...Object.keys(described), ...named]);
  return [...ids].map((id) => compileAuthority(run, id, Object.hasOwn(described, id) ? described[id] : undefined));
}

function compileAuthority(run: Compilation, id: string, config: AuthorityConfig = defaultAuthority()): AuthoritySpec {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) {
    run.fail(
      `apps.pki.certificate_authorities.${id}`,
      `'${id}' is no name of an authority: use letters, digits, - and _`,
    );
  }
  const { root } = config;
  if (root !== null) {
    const path = `apps.pki.certificate_authorities.${id}.root`;
    const chain = readCertificates(run, path, root.certificate);
    readKey(run, path, root.private_key, chain[0]!);
  }
  return {
    id,
    name: config.name,
    rootCommonName: config.root_common_name || `${config.name} - Root`,
    intermediateCommonName: config.intermediate_common_name || `${config.name} - Intermediate`,
    intermediateLifetimeMs: config.intermediate_lifetime,
    root: root === null ? null : { certificate: root.certificate, key: root.private_key },
  };
}
