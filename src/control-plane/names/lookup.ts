import { promises as dns, type LookupAddress, type RecordWithTtl } from 'node:dns';

/** What one look at a name gave. */
export interface LookupAnswer {
  /** Addresses of the family; null = this half of the question failed, so nothing is known about it. */
  readonly ipv4: readonly string[] | null;
  readonly ipv6: readonly string[] | null;
  /** Shortest time to live, milliseconds; null = the source tells none. */
  readonly ttlMs: number | null;
  /** Why a half failed, ''. */
  readonly error: string;
}

/** Asks for the addresses of a name. `resolvers` empty = the system's resolver. Never rejects. */
export type Lookup = (host: string, resolvers: readonly string[]) => Promise<LookupAnswer>;

const QUERY_TIMEOUT_MS = 2000;
const QUERY_TRIES = 2;
/** Codes that say for certain that there is no such record. */
const NO_RECORD: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

/** The real thing: hosts file and nsswitch by default, the named DNS servers where there are any. */
export const lookupName: Lookup = (host, resolvers) =>
  resolvers.length === 0 ? askSystem(host) : askServers(host, resolvers);

async function askSystem(host: string): Promise<LookupAnswer> {
  try {
    const found: LookupAddress[] = await dns.lookup(host, { all: true });
    const of = (family: number): string[] =>
      found.filter((entry) => entry.family === family).map((entry) => entry.address);
    return { ipv4: of(4), ipv6: of(6), ttlMs: null, error: '' };
  } catch (error) {
    return { ipv4: null, ipv6: null, ttlMs: null, error: codeOf(error) };
  }
}

async function askServers(host: string, servers: readonly string[]): Promise<LookupAnswer> {
  try {
    // A resolver of its own for each question: it holds a socket only while it asks.
    const resolver = new dns.Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
    resolver.setServers(servers);
    const [ipv4, ipv6] = await Promise.all([
      half(resolver.resolve4(host, { ttl: true })),
      half(resolver.resolve6(host, { ttl: true })),
    ]);
    const ttls = [...(ipv4.records ?? []), ...(ipv6.records ?? [])].map((record) => record.ttl);
    return {
      ipv4: ipv4.records?.map((record) => record.address) ?? null,
      ipv6: ipv6.records?.map((record) => record.address) ?? null,
      ttlMs: ttls.length === 0 ? null : Math.min(...ttls) * 1000,
      error: ipv4.error || ipv6.error,
    };
  } catch (error) {
    return { ipv4: null, ipv6: null, ttlMs: null, error: codeOf(error) };
  }
}

interface Half {
  readonly records: readonly RecordWithTtl[] | null;
  readonly error: string;
}

async function half(asked: Promise<RecordWithTtl[]>): Promise<Half> {
  try {
    return { records: await asked, error: '' };
  } catch (error) {
    const code = codeOf(error);
    return { records: NO_RECORD.has(code) ? [] : null, error: code };
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
