/** Passive health checks: from config to what workers count. */
import type { PassivePlan } from '../../shared/plan/types.ts';
import type { PassiveHealthConfig } from '../config/schema/health-checks.ts';
import type { Compilation } from './compilation.ts';

/** null when nothing is watched, which takes a `fail_duration`. `path` is the JSON path of the `passive` object. */
export function compilePassive(run: Compilation, path: string, config: PassiveHealthConfig | null): PassivePlan | null {
  if (config === null) return null;
  if (config.fail_duration === 0) {
    if (asksForSomething(config)) {
      run.warn(
        path,
        'fail_duration',
        'no failure is counted: passive checks (max_fails, unhealthy_*, first_byte_timeout) need fail_duration',
      );
    }
    return null;
  }
  return {
    failDurationMs: config.fail_duration,
    maxFails: config.max_fails,
    unhealthyStatus: config.unhealthy_status,
    unhealthyLatencyMs: config.unhealthy_latency,
    failRatio: config.fail_ratio,
    minRequests: config.fail_ratio_min_requests,
    ...(config.first_byte_timeout === undefined ? {} : { firstByteTimeoutMs: config.first_byte_timeout }),
  };
}

function asksForSomething(config: PassiveHealthConfig): boolean {
  const { max_fails: maxFails, unhealthy_status: statuses, unhealthy_latency: latency, fail_ratio: ratio } = config;
  return maxFails > 1 || statuses.length > 0 || latency > 0 || ratio > 0 || config.first_byte_timeout !== undefined;
}
