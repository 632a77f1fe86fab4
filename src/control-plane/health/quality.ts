/** How good the way to a server is, from the results of its check. PURE. */
import type { ProbeResult } from './probe.ts';

/** Weight of the newest round trip in the average, as of TCP's (RFC 6298 section 2). */
const AVERAGE_GAIN = 1 / 8;
/** RFC 3550 section 6.4.1. */
const JITTER_GAIN = 1 / 16;
/** Nothing came back; every other failure is an answer. */
const UNANSWERED: ReadonlySet<string> = new Set(['CONNECT_TIMEOUT', 'RECV_RESPONSE_TIMEOUT', 'NO_ECHO']);

export interface RoundTrips {
  /** Moving average, milliseconds. */
  readonly averageMs: number;
  /** Smoothed difference between neighbours, milliseconds. */
  readonly jitterMs: number;
  readonly lastMs: number;
}

/** The round trips after one more result; null = none was seen yet. */
export function observe(known: RoundTrips | null, result: ProbeResult): RoundTrips | null {
  if (result.outcome !== 'pass' || result.silent === true) return known;
  const lastMs = result.roundTripMs;
  if (known === null) return { averageMs: lastMs, jitterMs: result.burst?.jitterMs ?? 0, lastMs };
  const difference = result.burst?.jitterMs ?? Math.abs(lastMs - known.lastMs);
  return {
    averageMs: known.averageMs + (lastMs - known.averageMs) * AVERAGE_GAIN,
    jitterMs: known.jitterMs + (difference - known.jitterMs) * JITTER_GAIN,
    lastMs,
  };
}

/** Share of probes that went unanswered, 0 … 1; neutral results do not count. */
export function lossOf(results: readonly Pick<ProbeResult, 'outcome' | 'reason' | 'burst'>[]): number {
  let sent = 0;
  let lost = 0;
  for (const { outcome, reason, burst } of results) {
    if (outcome === 'neutral') continue;
    sent += burst?.sent ?? 1;
    lost += burst?.lost ?? (UNANSWERED.has(reason) ? 1 : 0);
  }
  return sent === 0 ? 0 : lost / sent;
}
