/** The only public module of the package. */
export { createBalancer } from './embed.ts';
export { ConfigError, type ConfigPosition } from './shared/config-error.ts';
export type { Balancer, BalancerOptions, BoundAddress, ConfigSource, ReloadOptions } from './balancer.ts';
export type { ConfigWarning } from './control-plane/compile/compiled.ts';
export type {
  AdminState,
  CheckResult,
  CheckStatus,
  ControlEvent,
  EndpointStatus,
  LoadResult,
  UpstreamPatch,
  UpstreamStatus,
} from './control-plane/types.ts';
export type { LogFields, Logger, LogLevel } from './shared/log.ts';
export type { AccessSink } from './shared/plan/types.ts';
