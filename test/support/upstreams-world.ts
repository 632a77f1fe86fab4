/** `Upstreams` with time, names and probes under a test's control. */
import { NOTHING_ISSUED } from '../../src/control-plane/compile/managed-specs.ts';
import type { PoolRows, ServerPlan } from '../../src/shared/plan/types.ts';
import { seededRandom } from '../../src/shared/random.ts';
import { MEMBER_STATE } from '../../src/shared/state-table/layout.ts';
import { joinHostPort, splitHostPort } from '../../src/shared/net/address.ts';
import { StateTable, type TableChunk } from '../../src/shared/state-table/table.ts';
import type { CheckSpec, CompiledConfig, PoolSpec } from '../../src/control-plane/compile/compiled.ts';
import type { HttpProbeSpec } from '../../src/control-plane/health/probe-spec.ts';
import type { ProbeResult } from '../../src/control-plane/health/probe.ts';
import type { ReasonWord } from '../../src/control-plane/health/reasons.ts';
import type { LookupAnswer } from '../../src/control-plane/names/lookup.ts';
import type { SrvAnswer } from '../../src/control-plane/names/srv.ts';
import type { ControlEvent } from '../../src/control-plane/types.ts';
import { Upstreams } from '../../src/control-plane/upstreams/upstreams.ts';
import { FakeClock, settle } from './fake-clock.ts';

/** A probe that waits for the test to say how it went. */
interface Probing {
  readonly key: string;
  readonly end: (result: ProbeResult) => void;
}

const RESULT: ProbeResult = {
  outcome: 'neutral',
  reason: '',
  detail: 'as the test said',
  roundTripMs: 1,
  localAddress: '',
  status: 0,
  body: '',
};

export class UpstreamsWorld {
  readonly clock: FakeClock = new FakeClock();
  readonly table: StateTable = new StateTable();
  readonly chunks: TableChunk[] = [];
  readonly events: ControlEvent[] = [];
  readonly forgotten: number[] = [];
  readonly cut: number[] = [];
  /** Derived pools that workers were told to forget. */
  readonly forgottenPools: string[] = [];
  /** `how pool slot slot…` of each. */
  readonly cutPools: string[] = [];
  /** `pool/member: host host…` of each change told to workers. */
  readonly moved: string[] = [];
  /** Name → what a resolver says; absent = the question never ends. */
  readonly names: Map<string, readonly string[] | 'SERVFAIL'> = new Map();
  readonly upstreams: Upstreams;
  /** Probes begun so far. */
  started = 0;
  readonly #probing: Set<Probing> = new Set();

  constructor() {
    this.upstreams = new Upstreams({
      table: this.table,
      clock: this.clock,
      random: seededRandom(11),
      onChunk: (chunk) => void this.chunks.push(chunk),
      onEndpoints: (pool, member, rows) =>
        void this.moved.push(`${pool}/${member}: ${rows.endpoints.map(({ host }) => host).join(' ')}`),
      onMembers: (pool, { found = [] }) =>
        void this.moved.push(`${pool}: ${found.map(({ upstream }) => upstream).join(' ')}`),
      onForgetDerived: (pools) => void this.forgottenPools.push(...pools),
      onForget: (slots) => void this.forgotten.push(...slots),
      onCut: (slots) => void this.cut.push(...slots),
      onCutPool: (pool, slots, how) => void this.cutPools.push(`${how} ${pool} ${slots.join(' ')}`),
      onEvent: (event) => void this.events.push(event),
      lookup: (host) => this.#lookup(host),
      lookupSrv: (name) => this.#lookupSrv(name),
      probeOf: ({ probe }) => ({
        run: (target, _options, { signal }) => {
          this.started += 1;
          return new Promise((resolve) => {
            const probing: Probing = {
              key: joinHostPort(target.host, target.port) + (probe.kind === 'http' ? probe.uri : ''),
              end: (result) => {
                this.#probing.delete(probing);
                resolve(result);
              },
            };
            this.#probing.add(probing);
            signal.addEventListener('abort', () => probing.end(RESULT));
          });
        },
      }),
    });
  }

  /** Prepares the generation and puts it in force. */
  async load(generation: number, compiled: CompiledConfig): Promise<void> {
    const progress = { done: false };
    const preparing = this.upstreams.prepare(generation, compiled).finally(() => (progress.done = true));
    await settle();
    while (!progress.done) await this.clock.advance(100);
    await preparing;
    this.upstreams.activate(generation);
  }

  rows(pool: string): PoolRows {
    return this.upstreams.currentRows(pool);
  }

  states(pool: string): readonly number[] {
    return this.rows(pool).members.map(({ member }) => this.table.members.load(member, MEMBER_STATE));
  }

  /** `ip:port/uri` of every probe under way. */
  probing(): readonly string[] {
    return [...this.#probing].map(({ key }) => key);
  }

  pass(address: string, uri: string = '/'): Promise<void> {
    return this.#end(address + uri, { ...RESULT, outcome: 'pass', status: 200 });
  }

  fail(address: string, reason: ReasonWord, uri: string = '/'): Promise<void> {
    return this.#end(address + uri, { ...RESULT, outcome: 'fail', reason });
  }

  /** Waits for the next probe of the address and ends it. */
  async #end(key: string, result: ProbeResult): Promise<void> {
    for (let turns = 0; turns < 1000; turns += 1) {
      const probing = [...this.#probing].find((one) => one.key === key);
      if (probing !== undefined) {
        probing.end(result);
        return settle();
      }
      await this.clock.advance(100);
    }
    throw new Error(`nobody probes ${key}; under way: ${this.probing().join(', ')}`);
  }

  /** SRV targets are told as `host:port`. */
  async #lookupSrv(name: string): Promise<SrvAnswer> {
    const { ipv4, error } = await this.#lookup(name);
    const targets = ipv4?.map((text) => ({ host: splitHostPort(text)!.host, port: splitHostPort(text)!.port ?? 80 }));
    return { targets: targets ?? null, error };
  }

  #lookup(host: string): Promise<LookupAnswer> {
    const said = this.names.get(host);
    if (said === undefined) return new Promise(() => {});
    const failed = said === 'SERVFAIL';
    return Promise.resolve(
      failed ? { ipv4: null, ipv6: null, ttlMs: null, error: said } : { ipv4: said, ipv6: [], ttlMs: null, error: '' },
    );
  }
}

/** A check whose hash covers what is given; `http` changes the HTTP probe. */
export function checkSpec({
  http = {},
  ...given
}: Partial<CheckSpec> & { http?: Partial<HttpProbeSpec> } = {}): CheckSpec {
  return {
    hash: JSON.stringify([given, http]),
    probe: {
      kind: 'http',
      uri: '/',
      method: 'GET',
      version: '1.1',
      host: 'upstream',
      body: '',
      headers: [],
      statuses: [2],
      expectBody: '',
      maxBytes: 1_048_576,
      followRedirects: false,
      tls: null,
      ...http,
    },
    address: null,
    port: null,
    intervalMs: 1000,
    timeoutMs: 500,
    rise: 1,
    fall: 1,
    initial: null,
    ...given,
  };
}

export function poolSpec(hash: string, upstreams: readonly string[], given: Partial<PoolSpec> = {}): PoolSpec {
  return {
    hash,
    section: {
      kind: 'pool',
      hash,
      policy: { policy: 'first' },
      members: upstreams.map((upstream) => ({ upstream, identity: upstream })),
      retry: { retries: null, tryDurationMs: null, tryIntervalMs: 250 },
      passive: null,
      queue: null,
      transport: {
        dialTimeoutMs: 3000,
        responseHeaderTimeoutMs: 0,
        keepAliveIdleMs: 120_000,
        maxIdlePerEndpoint: 32,
        maxResponseHeaderBytes: 65_536,
      },
    },
    members: upstreams.map((upstream) => {
      const { host, port } = splitHostPort(upstream)!;
      return { upstream, identity: upstream, host, port: port ?? 80 };
    }),
    check: null,
    bestEffort: false,
    resolvers: [],
    ...given,
  };
}

export function config(...pools: readonly PoolSpec[]): CompiledConfig {
  return {
    servers: [],
    layer4: [],
    sections: new Map(),
    pools,
    listeners: [],
    logFiles: [],
    logNets: [],
    admin: { enabled: false, host: '', port: 0, origins: [], enforceOrigin: false },
    gracePeriodMs: 30_000,
    shutdownDelayMs: 0,
    nameRefreshMs: null,
    workerHangTimeoutMs: null,
    ownLog: { sink: 'stderr', format: null },
    logLevel: 'info',
    tls: { certificates: [], authorities: [], issuance: NOTHING_ISSUED },
  };
}

export function serverPlan(name: string): Omit<ServerPlan, 'row'> {
  return {
    name,
    listeners: [],
    sites: [],
    errorSites: [],
    options: {
      trustedProxies: [],
      clientIpHeaders: [],
      readHeaderTimeoutMs: 0,
      idleTimeoutMs: 0,
      readBodyIdleTimeoutMs: 0,
      writeIdleTimeoutMs: 0,
      readBodyTimeoutMs: 0,
      writeTimeoutMs: 0,
      maxHeaderBytes: 0,
      maxHeaderFields: 0,
      maxRequestsPerConnection: 0,
      connectionLimits: null,
      accessLog: null,
    },
  };
}
