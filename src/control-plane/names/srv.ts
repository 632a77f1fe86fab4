import { promises as dns, type SrvRecord } from 'node:dns';

/** What one question for SRV records gave. */
export interface SrvAnswer {
  /** null = the question failed, so nothing is known. */
  readonly targets: readonly { readonly host: string; readonly port: number }[] | null;
  /** Why it failed, ''. */
  readonly error: string;
}

/**
 * Asks for the SRV records of a whole name (`_http._tcp.example.com`). `resolvers` empty = the system's DNS
 * servers. Never rejects.
 */
export type SrvLookup = (name: string, resolvers: readonly string[]) => Promise<SrvAnswer>;

const QUERY_TIMEOUT_MS = 2000;
const QUERY_TRIES = 2;

export const lookupSrv: SrvLookup = async (name, resolvers) => {
  try {
    const resolver = new dns.Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
    if (resolvers.length > 0) resolver.setServers(resolvers);
    return { targets: targetsOf(await resolver.resolveSrv(name)), error: '' };
  } catch (error) {
    return { targets: null, error: error instanceof Error && 'code' in error ? String(error.code) : String(error) };
  }
};

/** The target `.` says that the service is not offered (RFC 2782). Sorted: a resolver answers in any order. */
function targetsOf(records: readonly SrvRecord[]): { host: string; port: number }[] {
  return records
    .map(({ name, port }) => ({ host: name.replace(/\.$/, '').toLowerCase(), port }))
    .filter(({ host, port }) => host !== '' && port > 0)
    .sort((left, right) => (left.host === right.host ? left.port - right.port : left.host < right.host ? -1 : 1));
}
