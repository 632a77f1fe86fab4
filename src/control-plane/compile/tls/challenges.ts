/** Who answers the challenges of authorities. */
import type { TlsPlan } from '../../../shared/plan/tls.ts';
import type { SectionHash, SiteSection } from '../../../shared/plan/types.ts';
import type { HttpAppConfig } from '../../config/schema/http-app.ts';
import type { HttpServerConfig } from '../../config/schema/http-server.ts';
import type { TlsAppConfig } from '../../config/schema/tls-app.ts';
import type { Compilation } from '../compilation.ts';
import type { CertificateSpec, ListenerSpec } from '../compiled.ts';
import { hashContent } from '../content-hash.ts';
import { compileListeners } from '../listeners.ts';
import type { IssuancePlan } from '../managed-specs.ts';
import type { ChallengeWays } from './acme-issuers.ts';

/** RFC 8555 section 8.3. */
const CHALLENGE_PATHS = '/.well-known/acme-challenge/*';

/** Listeners of each server that do not speak TLS. */
export function plainListeners(
  run: Compilation,
  servers: Readonly<Record<string, HttpServerConfig>>,
  tlsOf: ReadonlyMap<string, TlsPlan>,
): ReadonlyMap<string, readonly ListenerSpec[]> {
  return new Map(
    Object.entries(servers).map(([name, { listen, accept }]) => {
      const secure = new Set(tlsOf.get(name)?.listeners);
      const all = compileListeners(run, `apps.http.servers.${name}.listen`, listen, accept);
      return [name, all.filter(({ key }) => !secure.has(key))];
    }),
  );
}

export function challengeWays(
  app: HttpAppConfig,
  plain: ReadonlyMap<string, readonly ListenerSpec[]>,
  tlsOf: ReadonlyMap<string, TlsPlan>,
): ChallengeWays {
  return {
    hasPlainListener: (alternate) =>
      [...plain.values()].flat().some((listener) => mayAnswer(app, listener, [alternate])),
    hasTlsListener: tlsOf.size > 0,
  };
}

/** Nobody can tell which port of the outside an inherited or a Unix socket stands for. */
function mayAnswer(
  { http_port: httpPort }: HttpAppConfig,
  { port, fd, unix }: ListenerSpec,
  alternates: readonly (number | null)[],
): boolean {
  return fd !== null || unix !== undefined || port === httpPort || alternates.includes(port);
}

/** null = nothing is issued by ACME or on demand. */
export function asksOf(
  specs: readonly CertificateSpec[],
  { onDemand }: IssuancePlan,
): NonNullable<TlsPlan['asks']> | null {
  if (onDemand.length > 0) return 'all';
  return specs.some(({ source }) => source === 'acme') ? 'challenges' : null;
}

export function challengeServers(
  app: HttpAppConfig,
  plain: ReadonlyMap<string, readonly ListenerSpec[]>,
  asks: TlsPlan['asks'] | null,
  { automation }: TlsAppConfig,
): ReadonlySet<string> {
  if (asks === null) return new Set();
  const alternates = automation.policies
    .flatMap(({ issuers }) => issuers)
    .map((issuer) => (issuer.module === 'acme' ? issuer.challenges.http.alternate_port : null));
  const answers = ([, listeners]: readonly [string, readonly ListenerSpec[]]): boolean =>
    listeners.some((listener) => mayAnswer(app, listener, alternates));
  return new Set([...plain].filter(answers).map(([name]) => name));
}

/** A site in front of the others. A token that nobody here asked for is left to them. */
export function addChallengeSite(run: Compilation): SectionHash {
  const content: Omit<SiteSection, 'hash'> = {
    kind: 'site',
    route: {
      match: [[{ kind: 'path', paths: [CHALLENGE_PATHS] }]],
      handle: [{ handler: 'acme_challenge' }],
      group: '',
      terminal: false,
    },
    pools: [],
  };
  const hash = hashContent(content);
  run.sections.set(hash, { hash, ...content });
  return hash;
}
