import type { Balancer, BalancerOptions, BoundAddress, LogOutput, ReloadOptions } from './balancer.ts';
import { AdminEndpoint } from './control-plane/admin/endpoint.ts';
import { createAdminRoutes } from './control-plane/admin/routes/index.ts';
import type {
  AdminSpec,
  CompiledConfig,
  ConfigWarning,
  LogFileSpec,
  LogNetSpec,
  OwnLogSpec,
} from './control-plane/compile/compiled.ts';
import { createControlPlane } from './control-plane/control-plane.ts';
import { definedVariables } from './control-plane/helper/environment.ts';
import { adaptLargeOrSmall } from './control-plane/helper/read-config.ts';
import { AccessWriter } from './control-plane/logging/access-writer.ts';
import { Metrics } from './control-plane/metrics/metrics.ts';
import type {
  ControlEvent,
  ControlPlane,
  LoadRequest,
  LoadResult,
  UpstreamPatch,
  UpstreamStatus,
} from './control-plane/types.ts';
import { systemClock } from './shared/clock.ts';
import { joinHostPort } from './shared/net/address.ts';
import { silentLogger, type Logger } from './shared/log.ts';
import { packageVersion } from './version.ts';

/**
 * Starts a load balancer and resolves when it serves. Installs no signal or process handlers.
 * Rejects with a `ConfigError`, or with the error of an address that cannot be bound.
 */
export async function createBalancer(options: BalancerOptions): Promise<Balancer> {
  const balancer = new EmbeddedBalancer(options);
  try {
    const { warnings } = await balancer.reload(options.config, options);
    options.onWarnings?.(warnings);
  } catch (error) {
    await balancer.stop(0);
    throw error;
  }
  return balancer;
}

class EmbeddedBalancer implements Balancer {
  readonly #options: BalancerOptions;
  readonly #log: Logger;
  readonly #access: AccessWriter;
  readonly #plane: ControlPlane;
  readonly #metrics: Metrics;
  readonly #endpoint: AdminEndpoint;
  readonly #ended = Promise.withResolvers<void>();
  /** Work beside the control plane that follows a load, one after the other. */
  #applying: Promise<void> = Promise.resolve();
  #stopping = false;

  constructor(options: BalancerOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#access = new AccessWriter({ stderr: process.stderr, stdout: process.stdout }, this.#log, systemClock);
    const env = options.env ?? process.env;
    this.#plane = createControlPlane({
      log: this.#log,
      env,
      accessSink: options.accessLog ?? ((lines, output) => this.#access.write(lines, output)),
      metrics: () => this.#metrics.text(),
      beforeCommit: (compiled) => this.#access.open(...this.#logsOf(compiled)),
      ...(options.workers === undefined ? {} : { workers: options.workers }),
      ...(options.dataDir === undefined ? {} : { dataDir: options.dataDir }),
      ...(options.certificateRetryMs === undefined ? {} : { certificateRetryMs: options.certificateRetryMs }),
      ...(options.hangTimeoutMs === undefined ? {} : { hangTimeoutMs: options.hangTimeoutMs }),
    });
    this.#metrics = new Metrics(this.#plane, systemClock, packageVersion());
    const routes = createAdminRoutes({
      plane: this.#plane,
      log: this.#log,
      metrics: this.#metrics,
      env,
      adapt: (text, adapter, filename) => adaptLargeOrSmall({ text, adapter, filename }, definedVariables(env)),
      load: (request) => this.#load(request),
      stop: () => void this.drain().catch((error: unknown) => this.#log.error('stop failed', { error })),
    });
    this.#endpoint = new AdminEndpoint(routes, this.#log);
  }

  address(key?: string): BoundAddress {
    const all = this.#plane.addresses();
    const found = key === undefined ? all.values().next().value : all.get(key);
    if (found !== undefined) return found;
    const known = [...all.keys()].join(', ') || 'none';
    throw new Error(key === undefined ? 'the config names no listener' : `no listener '${key}': there is ${known}`);
  }

  addresses(): ReadonlyMap<string, BoundAddress> {
    return this.#plane.addresses();
  }

  adminAddress(): BoundAddress | null {
    return this.#endpoint.address();
  }

  reload(config: string | object, options: ReloadOptions = {}): Promise<LoadResult> {
    return this.#load({
      text: typeof config === 'string' ? config : JSON.stringify(config),
      adapter: options.adapter ?? (typeof config === 'string' ? 'caddyfile' : 'json'),
      filename: options.filename ?? 'Caddyfile',
      force: options.force ?? false,
      mayRunPrograms: true,
    });
  }

  upstreams(): readonly UpstreamStatus[] {
    return this.#plane.upstreams();
  }

  patchUpstream(address: string, patch: UpstreamPatch): boolean {
    return this.#plane.patchUpstream(address, patch);
  }

  metrics(): Promise<string> {
    return this.#metrics.text();
  }

  on(type: ControlEvent['type'] | '*', listener: (event: ControlEvent) => void): () => void {
    return this.#plane.onEvent((event) => {
      if (type === '*' || event.type === type) listener(event);
    });
  }

  async drain(graceMs?: number): Promise<void> {
    this.#stopping = true;
    try {
      // Health of a draining balancer can be asked until its work is done.
      await this.#plane.stop(graceMs);
    } finally {
      await this.#applying;
      await this.#endpoint.stop();
      this.#options.onLogOutput?.(NO_OUTPUT);
      await this.#access.close();
      this.#ended.resolve();
    }
  }

  stop(graceMs = 0): Promise<void> {
    return this.drain(graceMs);
  }

  stopped(): Promise<void> {
    return this.#ended.promise;
  }

  noteFault(error: unknown): void {
    this.#plane.noteFault(error);
  }

  async #load(request: LoadRequest): Promise<LoadResult> {
    const isFirst = this.#plane.compiled() === null;
    const result = await this.#plane.load(request);
    const applied = this.#applying.then(() => this.#apply(isFirst));
    this.#applying = applied.then(
      () => {},
      () => {},
    );
    return { ...result, warnings: [...result.warnings, ...(await applied)] };
  }

  /** Brings log level, access output and admin endpoint in line with the config that is now in force. */
  async #apply(isFirst: boolean): Promise<readonly ConfigWarning[]> {
    const compiled = this.#plane.compiled();
    if (compiled === null || this.#stopping) return [];
    this.#options.onLogLevel?.(compiled.logLevel);
    this.#options.onLogOutput?.(this.#logOutput(compiled.ownLog));
    this.#access.retain(...this.#logsOf(compiled));
    try {
      await this.#endpoint.apply(this.#adminSpec(compiled));
      return [];
    } catch (error) {
      const problem = bindProblem(compiled.admin, error);
      if (isFirst) throw new Error(problem, { cause: error });
      this.#log.error(problem);
      return [{ file: '', line: 0, directive: 'admin', message: `${problem}; the old admin endpoint goes on` }];
    }
  }

  /** Whoever takes the lines himself wants no files and connections of ours. */
  #logsOf({ logFiles, logNets }: CompiledConfig): [files: readonly LogFileSpec[], nets: readonly LogNetSpec[]] {
    return this.#options.accessLog === undefined ? [logFiles, logNets] : [[], []];
  }

  #logOutput({ sink, format }: OwnLogSpec): LogOutput {
    if (sink === null) return { format, write: () => {} };
    if (this.#options.accessLog !== undefined || (sink === 'stderr' && format === null)) return { format, write: null };
    // A log that cannot be written must not take with it what is wrong with it.
    const write = (line: string): void => {
      if (!this.#access.write(line, sink)) process.stderr.write(line);
    };
    return { format, write };
  }

  #adminSpec({ admin }: CompiledConfig): AdminSpec {
    const wanted = this.#options.admin ?? hasAdminSection(this.#plane.config());
    return wanted ? admin : { ...admin, enabled: false };
  }
}

const NO_OUTPUT: LogOutput = Object.freeze({ format: null, write: null });

function hasAdminSection(config: unknown): boolean {
  return typeof config === 'object' && config !== null && 'admin' in config && config.admin !== null;
}

const BIND_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address already in use (is another Holdfast or Caddy running?)',
  EEXIST: 'there is a file of this name that is no socket',
  EADDRNOTAVAIL: 'the address is not on this machine (check the admin address and `ip address`)',
  EACCES: 'permission denied (ports below 1024 need root or CAP_NET_BIND_SERVICE)',
  ENOTFOUND: 'the name does not resolve (is it in DNS or the hosts file?)',
};

function bindProblem({ host, port, unix }: AdminSpec, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  const why = BIND_PROBLEMS[code] ?? code;
  const address = unix === undefined ? joinHostPort(host, port) : `unix/${unix.path}`;
  return `cannot open the admin endpoint on ${address}: ${why}`;
}
