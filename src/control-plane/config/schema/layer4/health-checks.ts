/**
 * `health_checks` of a `proxy`: caddy-l4's own (a connection that succeeds; what connections tell by the way) and
 * the probes that `reverse_proxy` has as well. All of them are read by the schema of the latter, in its words.
 */
import { z } from 'zod';
import { healthChecksSchema } from '../health-checks.ts';
import type { HealthChecksConfig } from '../health-checks.ts';
import { duration, flag, object, orDefaults, orNull } from '../primitives.ts';

const HOUR_MS = 3_600_000;

export interface Layer4HealthConfig {
  readonly checks: HealthChecksConfig;
  /** The check is caddy-l4's. */
  readonly connectCheck: boolean;
  /** A server that goes down loses its connections at once. */
  readonly closeIfUnhealthy: boolean;
}

/** caddy-l4's defaults. */
const CONNECT_CHECK: Readonly<Record<string, unknown>> = Object.freeze({
  probe: 'tcp',
  interval: '30s',
  timeout: '5s',
  rise: 1,
  fall: 1,
});

const raw = z.unknown().optional();

const fields = object({
  active: orNull(
    object({
      ...{ interval: raw, timeout: raw, port: raw, fall: raw, rise: raw },
      close_if_unhealthy: flag().default(false),
    }),
  ),
  passive: orNull(
    object({
      ...{ fail_duration: raw, max_fails: raw, unhealthy_connection_count: raw },
      first_byte_timeout: duration(1, HOUR_MS).optional(),
    }),
  ),
  probe: raw,
});

export const layer4HealthSchema: z.ZodType<Layer4HealthConfig> = orDefaults(fields).transform((config, context) => {
  const { active, passive, probe } = config;
  if (active !== null && probe !== undefined) {
    const message = 'health_* and health <probe> are two checks: write the options of the first inside of the second';
    context.addIssue({ code: 'custom', message, path: ['active'] });
    return z.NEVER;
  }
  const { close_if_unhealthy: closeIfUnhealthy = false, ...connect } = active ?? {};
  const asked = active === null ? probe : { ...CONNECT_CHECK, ...written(connect) };
  const result = healthChecksSchema.safeParse(written({ probe: asked, passive: passive && renamePassive(passive) }));
  if (result.success) {
    const checks = withFirstByte(result.data, passive?.first_byte_timeout);
    return { checks, connectCheck: active !== null, closeIfUnhealthy };
  }
  for (const { message, path, ...rest } of result.error.issues) {
    const params = 'params' in rest ? rest.params : undefined;
    context.addIssue({ code: 'custom', message, path: path.map((key) => ownName(key, active !== null)), params });
  }
  return z.NEVER;
});

type Raw = Readonly<Record<string, unknown>>;

/** Of layer 4 alone: what HTTP has instead is response_header_timeout. */
function withFirstByte(checks: HealthChecksConfig, timeoutMs: number | undefined): HealthChecksConfig {
  if (timeoutMs === undefined || checks.passive === null) return checks;
  return { ...checks, passive: { ...checks.passive, first_byte_timeout: timeoutMs } };
}

function renamePassive({ unhealthy_connection_count: limit, first_byte_timeout: _own, ...rest }: Raw): Raw {
  return written({ ...rest, unhealthy_request_count: limit });
}

/** The word that a key of the other schema has here. */
function ownName(key: PropertyKey, connectCheck: boolean): PropertyKey {
  if (key === 'unhealthy_request_count') return 'unhealthy_connection_count';
  return key === 'probe' && connectCheck ? 'active' : key;
}

/** Without the fields that are not there. */
function written(fields: Raw): Raw {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
