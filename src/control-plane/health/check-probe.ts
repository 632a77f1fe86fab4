/** The probe of a check with what the check itself adds: several at once, and how slow is too slow. */
import type { CheckSpec } from '../compile/compiled.ts';
import { runBurst } from './burst.ts';
import type { Probe, ProbeResult } from './probe.ts';
import { createProbe, type ProbeEnvironment } from './probes/probes.ts';

/** Serves any number of servers. */
export function checkProbe(
  check: Pick<CheckSpec, 'probe' | 'burst' | 'maxRttMs'>,
  environment: ProbeEnvironment,
): Probe {
  const inner = createProbe(check.probe, environment);
  const { burst, maxRttMs } = check;
  if (burst !== undefined) {
    return {
      run: async (target, options, deps) => {
        const once = (timeoutMs: number): Promise<ProbeResult> => inner.run(target, { ...options, timeoutMs }, deps);
        return limited(await runBurst(burst, options.timeoutMs, deps, once), maxRttMs);
      },
    };
  }
  if (maxRttMs === undefined) return inner;
  const { forServer } = inner;
  const limit = (probe: Probe): Probe['run'] => {
    return async (target, options, deps) => limited(await probe.run(target, options, deps), maxRttMs);
  };
  if (forServer === undefined) return { run: limit(inner) };
  return {
    run: limit(inner),
    forServer: () => {
      const own = forServer();
      return { run: limit(own), close: () => own.close() };
    },
  };
}

function limited(result: ProbeResult, maxRttMs: number | undefined): ProbeResult {
  if (maxRttMs === undefined || result.outcome !== 'pass' || result.silent === true) return result;
  if (result.roundTripMs <= maxRttMs) return result;
  const took = Math.round(result.roundTripMs * 10) / 10;
  return { ...result, outcome: 'fail', reason: 'TOO_SLOW', detail: `it took ${took} ms, more than ${maxRttMs} ms` };
}
