import type { AdminSpec, CompiledConfig } from '../../src/control-plane/compile/compiled.ts';
import { NOTHING_ISSUED } from '../../src/control-plane/compile/managed-specs.ts';
import type {
  CertificateStatus,
  ControlPlane,
  LoadRequest,
  UpstreamPatch,
  UpstreamStatus,
} from '../../src/control-plane/types.ts';
import { StateTable } from '../../src/shared/state-table/table.ts';

/** A control plane without workers: what it shows can be set, what it was told can be read. */
export class FakePlane implements ControlPlane {
  readonly table: StateTable = new StateTable();
  readonly loads: LoadRequest[] = [];
  readonly patches: (readonly [string, UpstreamPatch])[] = [];
  servers: ReadonlyMap<string, number> = new Map();
  layer4: ReadonlyMap<string, number> = new Map();
  layer4Servers: CompiledConfig['layer4'] = [];
  sections: CompiledConfig['sections'] = new Map();
  slots: ReadonlyMap<string, number> = new Map();
  statuses: readonly UpstreamStatus[] = [];
  json: unknown = null;
  spec: AdminSpec = { enabled: true, host: '127.0.0.1', port: 0, origins: [], enforceOrigin: false };
  certificateStatuses: readonly CertificateStatus[] = [];
  httpServers: CompiledConfig['servers'] = [];
  problems: readonly string[] = [];
  failure: Error | null = null;
  stops = 0;

  load(request: LoadRequest): ReturnType<ControlPlane['load']> {
    if (this.failure !== null) return Promise.reject(this.failure);
    this.loads.push(request);
    const warnings = [{ file: request.filename, line: 3, directive: 'lb_policy', message: 'even number' }];
    return Promise.resolve({ generation: this.loads.length, unchanged: false, warnings, changes: [] });
  }

  config(): unknown {
    return this.json;
  }

  compiled(): CompiledConfig {
    return {
      servers: this.httpServers,
      layer4: this.layer4Servers,
      sections: this.sections,
      pools: [],
      listeners: [],
      logFiles: [],
      logNets: [],
      admin: this.spec,
      gracePeriodMs: 0,
      shutdownDelayMs: 0,
      nameRefreshMs: null,
      workerHangTimeoutMs: null,
      ownLog: { sink: 'stderr', format: null },
      logLevel: 'info',
      tls: { certificates: [], authorities: [], issuance: NOTHING_ISSUED },
    };
  }

  serverRows(): ReadonlyMap<string, number> {
    return this.servers;
  }

  layer4Rows(): ReadonlyMap<string, number> {
    return this.layer4;
  }

  slotRows(): ReadonlyMap<string, number> {
    return this.slots;
  }

  derivedRows(): null {
    return null;
  }

  poolRows(): ReturnType<ControlPlane['poolRows']> {
    return { pool: 0, members: [] };
  }

  upstreams(): readonly UpstreamStatus[] {
    return this.statuses;
  }

  async *eachUpstream(): AsyncGenerator<UpstreamStatus> {
    yield* this.statuses;
  }

  slotRow(address: string): number | undefined {
    return this.slots.get(address);
  }

  patchUpstream(address: string, patch: UpstreamPatch): boolean {
    if (!this.statuses.some((status) => status.upstream === address)) return false;
    this.patches.push([address, patch]);
    return true;
  }

  certificates(): readonly CertificateStatus[] {
    return this.certificateStatuses;
  }

  workers(): ReturnType<ControlPlane['workers']> {
    return [{ name: 'worker-1', lane: 1, state: 'serving', connections: 2, exchanges: 1, tunnels: 0, generation: 1 }];
  }

  workerRestarts(): { readonly crashes: number; readonly hangs: number } {
    return { crashes: 2, hangs: 1 };
  }

  reloads(): ReturnType<ControlPlane['reloads']> {
    return { generation: 4, lastSuccessful: true, lastSuccessSeconds: 1_700_000_000, total: 5, failures: 1 };
  }

  addresses(): ReturnType<ControlPlane['addresses']> {
    return new Map();
  }

  degraded(): readonly string[] {
    return this.problems;
  }

  onEvent(): () => void {
    return () => {};
  }

  noteFault(): void {}

  retireWorker(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.stops += 1;
    return Promise.resolve();
  }
}

/** One upstream in one pool, up and idle. */
export function upstreamStatus(upstream: string, over: Partial<UpstreamStatus> = {}): UpstreamStatus {
  return {
    layer: 'http',
    upstream,
    pool: 'a1b2c3d4',
    policy: 'ip_hash',
    position: 0,
    poolSize: 1,
    weight: 1,
    state: 'up',
    why: '',
    bestEffort: false,
    inFlight: 0,
    endpoints: [
      {
        address: upstream,
        adminState: 'ready',
        drainDeadline: 0,
        inFlight: 0,
        requestsTotal: 0,
        failuresTotal: 0,
        checks: [],
      },
    ],
    ...over,
  };
}
