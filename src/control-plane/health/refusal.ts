/** What traffic tells a check: that a server refused it. PURE. */
import { joinHostPort } from '../../shared/net/address.ts';
import type { CheckSpec } from '../compile/compiled.ts';
import type { ProbeResult, ProbeTarget } from './probe.ts';

const DATAGRAM_PROBES: ReadonlySet<string> = new Set(['udp', 'dns', 'quic'] as const);

/** Whether the check asks at the very address and port that refused: of another one a refusal says nothing. */
export function isAbout(spec: CheckSpec, target: ProbeTarget, network: 'tcp' | 'udp'): boolean {
  if (spec.address !== null || (spec.port ?? target.port) !== target.port) return false;
  return DATAGRAM_PROBES.has(spec.probe.kind) === (network === 'udp');
}

/** Of many refusals one counts in half an interval: a burst of traffic is no faster than the probes are. */
export function countsNow(spec: CheckSpec, lastFailureAt: number, at: number): boolean {
  return at - lastFailureAt >= spec.intervalMs / 2;
}

export function refusalResult({ host, port }: ProbeTarget, network: 'tcp' | 'udp'): ProbeResult {
  const address = joinHostPort(host, port);
  return {
    outcome: 'fail',
    reason: network === 'udp' ? 'PORT_UNREACHABLE' : 'CONNECT_FAILED',
    detail:
      network === 'udp'
        ? `a datagram of a client was answered by "port unreachable" (${address})`
        : `a connection for a client was refused (${address})`,
    roundTripMs: 0,
    localAddress: '',
    status: 0,
    body: '',
  };
}
