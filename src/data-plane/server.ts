/** One HTTP server of a generation, compiled: options, trust and routes. */
import type {
  AccessOutput,
  HttpServerOptions,
  SectionHash,
  ServerIndex,
  ServerPlan,
  SiteSection,
} from '../shared/plan/types.ts';
import { compilePrefixes, type PrefixSet } from '../shared/net/cidr.ts';
import { compileClientIpHeaders, type ClientIpList } from './client-ip/header.ts';
import type { HeadLimits } from './http1/limits.ts';
import type { Layer4Server } from './layer4/server.ts';
import type { Pool } from './pool/pool.ts';
import { ProxyHeaderReceiver } from './proxy-header/receiver.ts';
import type { ProcessFacts } from './route/placeholder/placeholder.ts';
import { compileSites, type CompiledRouter } from './route/compile.ts';
import type { FindDerived } from './route/derived.ts';
import { mappedNames } from './route/map.ts';
import { TlsPolicies } from './tls/policies.ts';

/** Everything the running exchanges of one config need. Exchanges and tunnels keep theirs alive. */
export interface Generation {
  readonly number: number;
  readonly serverOf: ReadonlyMap<string, HttpServer>;
  readonly layer4Of: ReadonlyMap<string, Layer4Server>;
  /** Exchanges and tunnels that still run under it. */
  active: number;
}

const NO_OUTPUT: readonly AccessOutput[] = Object.freeze([]);

export class HttpServer {
  readonly name: string;
  readonly row: ServerIndex;
  readonly options: HttpServerOptions;
  readonly limits: HeadLimits;
  /** null = all its listeners are plain HTTP. */
  readonly tls: TlsPolicies | null;
  /** null = connections begin without a PROXY header. */
  readonly proxyHeader: ProxyHeaderReceiver | null;
  /** null when no proxy is trusted. */
  readonly trusted: PrefixSet | null;
  readonly clientIpList: ClientIpList;
  readonly router: CompiledRouter<Pool>;
  /** Routes of `handle_errors`; null when there are none. */
  readonly errorRouter: CompiledRouter<Pool> | null;
  readonly #accessOutputs: ReadonlyMap<string, readonly AccessOutput[]>;
  readonly #otherOutputs: readonly AccessOutput[];

  constructor(
    plan: ServerPlan,
    siteOf: (hash: SectionHash) => SiteSection,
    poolOf: (hash: SectionHash) => Pool,
    facts: ProcessFacts,
    derived: FindDerived<Pool> = () => null,
  ) {
    const { options } = plan;
    this.name = plan.name;
    this.tls = plan.tls === undefined ? null : new TlsPolicies(plan.tls);
    this.row = plan.row;
    this.options = options;
    const { maxHeaderBytes: maxBytes, maxHeaderFields: maxFields } = options;
    this.limits = { maxBytes, maxFields, maxRequestLine: maxBytes };
    this.proxyHeader = options.proxyHeader === undefined ? null : new ProxyHeaderReceiver(options.proxyHeader);
    this.trusted = options.trustedProxies.length === 0 ? null : compilePrefixes(options.trustedProxies);
    this.clientIpList = compileClientIpHeaders(options.clientIpHeaders);
    const sites = plan.sites.map(siteOf);
    const errorSites = plan.errorSites.map(siteOf);
    const known = { ...facts, mapped: mappedNames([...sites, ...errorSites].map(({ route }) => route)) };
    this.router = compileSites(sites, poolOf, known, null, derived);
    this.errorRouter = errorSites.length === 0 ? null : compileSites(errorSites, poolOf, known, null, derived);
    this.#accessOutputs = new Map(Object.entries(options.accessLog?.hosts ?? {}));
    this.#otherOutputs = options.accessLog?.others ?? NO_OUTPUT;
  }

  /** Where the access line of a request for `host` goes; usually one output or none. */
  accessOutputs(host: string): readonly AccessOutput[] {
    return this.#accessOutputs.get(host) ?? this.#otherOutputs;
  }
}
