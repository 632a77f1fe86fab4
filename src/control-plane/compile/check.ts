/** The active check of a pool, whichever way it is written. */
import type { TransportPlan } from '../../shared/plan/types.ts';
import type { HealthChecksConfig } from '../config/schema/health-checks.ts';
import { compileActive } from './checks/active.ts';
import { compileProbe } from './checks/probe.ts';
import type { Compilation } from './compilation.ts';
import type { CheckSpec, MemberSpec } from './compiled.ts';
import { warnCheckPort } from './pool-warnings.ts';

/** null when there is no check. `path` is the JSON path of `health_checks`. */
export function compileCheck(
  run: Compilation,
  path: string,
  { active, probe }: Pick<HealthChecksConfig, 'active' | 'probe'>,
  transport: Pick<TransportPlan, 'proxyProtocol' | 'localAddress' | 'tls' | 'http2' | 'h2c'>,
  members: readonly MemberSpec[],
): CheckSpec | null {
  const { proxyProtocol = null, localAddress = null, tls = null } = transport;
  const http2Only = tls === null ? transport.h2c === true : transport.http2 === 'only';
  const traffic = { proxyProtocol, localAddress, tls, http2Only };
  const check =
    probe === null
      ? compileActive(run, `${path}.active`, active, traffic)
      : compileProbe(run, `${path}.probe`, probe, members, traffic);
  if (check !== null) warnCheckPort(run, `${path}.${probe === null ? 'active' : 'probe'}`, check, members);
  return check;
}
