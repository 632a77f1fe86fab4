/** Several probes as one check, for services that loss and jitter hurt. */
import type { BurstSpec } from '../compile/compiled.ts';
import type { ProbeDeps, ProbeResult } from './probe.ts';

/** Start to start within a burst: the pace of voice packets. */
const SPACING_MS = 20;

/** Runs the probes, overlapping; `once` is one of them. All end within `timeoutMs`. Never rejects. */
export async function runBurst(
  burst: BurstSpec,
  timeoutMs: number,
  deps: ProbeDeps,
  once: (timeoutMs: number) => Promise<ProbeResult>,
): Promise<ProbeResult> {
  const spacingMs = Math.min(SPACING_MS, timeoutMs / (2 * burst.count));
  const running = Array.from({ length: burst.count }, async (_, at) => {
    if (at > 0) await new Promise<void>((resolve) => void deps.clock.after(at * spacingMs, resolve));
    return once(timeoutMs - at * spacingMs);
  });
  return judgeBurst(burst, await Promise.all(running));
}

/** PURE. */
export function judgeBurst(burst: BurstSpec, results: readonly ProbeResult[]): ProbeResult {
  const neutral = results.find((result) => result.outcome === 'neutral');
  if (neutral !== undefined) return neutral;
  const passed = results.filter((result) => result.outcome === 'pass');
  const failed = results.filter((result) => result.outcome === 'fail');
  const [first] = passed;
  const [fault] = failed;
  const jitterMs = meanDifference(passed.map((result) => result.roundTripMs));
  const counts = { sent: results.length, lost: failed.length, jitterMs };
  if (first === undefined) return { ...fault!, burst: counts };
  const roundTripMs = passed.reduce((sum, result) => sum + result.roundTripMs, 0) / passed.length;
  const detail = `${passed.length} of ${results.length} answered, jitter ${Math.round(jitterMs * 10) / 10} ms`;
  const whole: ProbeResult = { ...first, roundTripMs, detail, burst: counts };
  if (burst.maxLoss !== null && failed.length / results.length > burst.maxLoss) {
    return {
      ...whole,
      outcome: 'fail',
      reason: 'TOO_MUCH_LOSS',
      detail: `${detail}; the first lost: ${fault!.detail}`,
    };
  }
  if (burst.maxJitterMs !== null && jitterMs > burst.maxJitterMs) {
    return { ...whole, outcome: 'fail', reason: 'TOO_MUCH_JITTER', detail };
  }
  return whole;
}

function meanDifference(times: readonly number[]): number {
  if (times.length < 2) return 0;
  const total = times.slice(1).reduce((sum, time, at) => sum + Math.abs(time - times[at]!), 0);
  return total / (times.length - 1);
}
