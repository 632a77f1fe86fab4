import type { Logger } from '../../shared/log.ts';
import type { ConfigWarning } from '../compile/compiled.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ControlPlane, LoadRequest, LoadResult } from '../types.ts';

/** The result of turning config text into JSON. */
export interface Adapted {
  readonly config: unknown;
  readonly warnings: readonly ConfigWarning[];
}

/** Throws or rejects with a `ConfigError` when the text does not adapt. */
type Adapt = (text: string, adapter: 'caddyfile' | 'json', filename: string) => Adapted | Promise<Adapted>;

/** What the routes work with. */
export interface AdminContext {
  readonly plane: ControlPlane;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** What `{env.…}` shows in explanations. */
  readonly env: NodeJS.ProcessEnv;
  readonly adapt: Adapt;
  /** Loads a config and applies what is not the control plane's: log level, this endpoint. */
  readonly load: (request: LoadRequest) => Promise<LoadResult>;
  /** Drains and ends the balancer; called after the reply was sent. */
  readonly stop: () => void;
}
