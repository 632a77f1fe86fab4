/** One HTTP server of a generation, compiled: options, trust and routes. */
import type { HttpServerOptions, SectionHash, ServerIndex, ServerPlan, SiteSection } from '../shared/plan/types.ts';
import { compilePrefixes, type PrefixSet } from '../shared/net/cidr.ts';
import { compileClientIpHeaders, type ClientIpList } from './client-ip/header.ts';
import { DEFAULT_HEAD_LIMITS, type HeadLimits } from './http1/limits.ts';
import type { Pool } from './pool/pool.ts';
import type { ProcessFacts } from './route/placeholder/placeholder.ts';
import { compileSites, type CompiledRouter } from './route/compile.ts';

/** Everything the running exchanges of one config need. Exchanges and tunnels keep theirs alive. */
export interface Generation {
  readonly number: number;
  readonly serverOf: ReadonlyMap<string, HttpServer>;
  /** Exchanges and tunnels that still run under it. */
  active: number;
}

export class HttpServer {
  readonly name: string;
  readonly row: ServerIndex;
  readonly options: HttpServerOptions;
  readonly limits: HeadLimits;
  /** null when no proxy is trusted. */
  readonly trusted: PrefixSet | null;
  readonly clientIpList: ClientIpList;
  readonly router: CompiledRouter<Pool>;
  readonly #skipHosts: ReadonlySet<string>;
  readonly #logHosts: ReadonlySet<string> | null;

  constructor(
    plan: ServerPlan,
    siteOf: (hash: SectionHash) => SiteSection,
    poolOf: (hash: SectionHash) => Pool,
    facts: ProcessFacts,
  ) {
    const { options } = plan;
    this.name = plan.name;
    this.row = plan.row;
    this.options = options;
    this.limits = { ...DEFAULT_HEAD_LIMITS, maxBytes: options.maxHeaderBytes };
    this.trusted = options.trustedProxies.length === 0 ? null : compilePrefixes(options.trustedProxies);
    this.clientIpList = compileClientIpHeaders(options.clientIpHeaders);
    this.router = compileSites(plan.sites.map(siteOf), poolOf, facts);
    this.#skipHosts = new Set(options.accessLog?.skipHosts);
    const hosts = options.accessLog?.hosts ?? null;
    this.#logHosts = hosts === null ? null : new Set(hosts);
  }

  logs(host: string): boolean {
    if (this.options.accessLog === null || this.#skipHosts.has(host)) return false;
    return this.#logHosts === null || this.#logHosts.has(host);
  }
}
