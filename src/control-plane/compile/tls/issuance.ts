/** Who issues the certificates that nobody brought along. */
import { matchesName } from '../../../shared/net/host-pattern.ts';
import { describePlace } from '../../config/positions.ts';
import { acmeIssuerSchema, LOCAL_AUTHORITY, type InternalIssuerConfig } from '../../config/schema/acme-issuer.ts';
import type { Config } from '../../config/schema/config.ts';
import { defaultAuthority } from '../../config/schema/tls-app.ts';
import type { AuthorityConfig, AutomationPolicyConfig } from '../../config/schema/tls-app.ts';
import type { Compilation } from '../compilation.ts';
import type { AuthoritySpec, CertificateSpec } from '../compiled.ts';
import type { IssuancePlan, IssueTerms, IssuerSpec, OnDemandSpec } from '../managed-specs.ts';
import { readCertificates, readKey } from '../pem-files.ts';
import { compileAcme, type ChallengeWays } from './acme-issuers.ts';
import { isInternalName } from './subjects.ts';

const INTERNAL: InternalIssuerConfig = Object.freeze({
  module: 'internal',
  ca: LOCAL_AUTHORITY,
  lifetime: 12 * 3_600_000,
  sign_with_root: false,
});
const DEFAULT_RENEW_INTERVAL_MS = 5000;

/** Names to be managed, each with the JSON path it was written at. */
export type ManagedNames = ReadonlyMap<string, string>;

export interface Issuance {
  readonly specs: readonly CertificateSpec[];
  readonly plan: IssuancePlan;
}

/** `ways`: how this config can show control of a name. Throws for names that cannot be had. */
export function compileIssuance(run: Compilation, config: Config, names: ManagedNames, ways: ChallengeWays): Issuance {
  const { automation, disable_ocsp_stapling: unstapled } = config.apps.tls;
  const { policies } = automation;
  const specs = [...names].flatMap(([name, path]) => {
    const at = policyFor(policies, name);
    // A name of such a policy is had when somebody asks.
    return policies[at]?.on_demand === true ? [] : [specOf(run, policies, at, name, path, ways)];
  });
  const onDemand = policies.flatMap((policy, at) => (policy.on_demand ? [compileOnDemand(run, config, at, ways)] : []));
  const issuers = [
    ...specs.flatMap((spec) => (spec.source === 'acme' ? spec.issuers : [])),
    ...onDemand.flatMap((spec) => spec.issuers),
  ];
  const programs = new Set(
    issuers.flatMap((issuer) => (issuer.kind === 'acme' && issuer.dns !== null ? [issuer.dns.program] : [])),
  );
  const plan: IssuancePlan = {
    onDemand,
    ask: automation.on_demand?.permission.endpoint ?? null,
    storage: config.storage?.root ?? null,
    programs: [...programs].map((path) => ({
      path,
      place: describePlace(run.context.positions, 'apps.tls.automation'),
    })),
    renewIntervalMs: automation.renew_interval ?? DEFAULT_RENEW_INTERVAL_MS,
    cleanIntervalMs: automation.storage_clean_interval,
    stapling: !unstapled && !policies.some(({ disable_ocsp_stapling: off }) => off),
  };
  return { specs, plan };
}

/** -1 = none. */
function policyFor(policies: readonly AutomationPolicyConfig[], name: string): number {
  const own = policies.findIndex(({ subjects }) =>
    subjects.some((subject) => matchesName(subject.toLowerCase(), name)),
  );
  return own >= 0 ? own : policies.findIndex(({ subjects }) => subjects.length === 0);
}

function specOf(
  run: Compilation,
  policies: readonly AutomationPolicyConfig[],
  at: number,
  name: string,
  path: string,
  ways: ChallengeWays,
): CertificateSpec {
  const policy = policies[at];
  const place = describePlace(run.context.positions, path);
  const configs = policy?.issuers ?? [];
  const [internal] = configs.length === 0 && isInternalName(name) ? [INTERNAL] : configs;
  if (internal?.module === 'internal' && configs.length < 2) {
    const { ca: authority, lifetime: lifetimeMs, sign_with_root: signWithRoot } = internal;
    return { source: 'internal', name, authority, lifetimeMs, signWithRoot, place };
  }
  const terms = compileTerms(run, policy, `apps.tls.automation.policies.${at}`, name, path, ways);
  return { source: 'acme', name, ...terms, place };
}

/** `name` '' = names that are not known yet. `namePath` is where it was written. */
function compileTerms(
  run: Compilation,
  policy: AutomationPolicyConfig | undefined,
  path: string,
  name: string,
  namePath: string,
  ways: ChallengeWays,
): IssueTerms {
  const written = policy?.issuers ?? [];
  const configs = written.length > 0 ? written : [acmeIssuerSchema.parse({ module: 'acme' })];
  const issuers = configs.map((issuer, at): IssuerSpec => {
    if (issuer.module === 'acme')
      return compileAcme(run, `${path}.issuers.${at}`, issuer, { name, path: namePath }, ways);
    const { ca: authority, lifetime: lifetimeMs, sign_with_root: signWithRoot } = issuer;
    return { kind: 'internal', authority, lifetimeMs, signWithRoot };
  });
  return {
    issuers,
    keyType: policy?.key_type ?? 'p256',
    mustStaple: policy?.must_staple ?? false,
    renewalShare: policy?.renewal_window_ratio ?? 1 / 3,
  };
}

function compileOnDemand(run: Compilation, { apps }: Config, at: number, ways: ChallengeWays): OnDemandSpec {
  const path = `apps.tls.automation.policies.${at}`;
  const policy = apps.tls.automation.policies[at]!;
  const terms = compileTerms(run, policy, path, '', path, ways);
  if (apps.tls.automation.on_demand === null && terms.issuers.some(({ kind }) => kind === 'acme')) {
    run.fail(
      path,
      'on_demand needs somebody who says which names are wanted, or anybody could have certificates made: ' +
        'write on_demand_tls { ask <url> } in the global options',
    );
  }
  const subjects = policy.subjects.map((subject) => subject.toLowerCase());
  return { ...terms, subjects, place: describePlace(run.context.positions, path) };
}

/** The authorities that `specs` name, described or not. */
export function compileAuthorities(
  run: Compilation,
  { apps }: Config,
  specs: readonly CertificateSpec[],
  onDemand: readonly OnDemandSpec[],
): AuthoritySpec[] {
  const described = apps.pki.certificate_authorities;
  const issuers = [
    ...specs.flatMap((spec) => (spec.source === 'acme' ? spec.issuers : [])),
    ...onDemand.flatMap((spec) => spec.issuers),
  ];
  const named = [
    ...specs.flatMap((spec) => (spec.source === 'internal' ? [spec.authority] : [])),
    ...issuers.flatMap((issuer) => (issuer.kind === 'internal' ? [issuer.authority] : [])),
  ];
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
