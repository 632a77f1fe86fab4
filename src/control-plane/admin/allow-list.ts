import { joinHostPort } from '../../shared/net/address.ts';
import type { AdminSpec } from '../compile/compiled.ts';

/** Names of the own machine that no DNS answer can move elsewhere (RFC 6761 section 6.3). */
const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Hosts and origins the admin API answers to. Fixed when the endpoint is bound. */
export interface AllowList {
  /** Authorities (`host:port`, lower case). */
  readonly authorities: ReadonlySet<string>;
  /** Loopback names whose port does not matter in Host: an SSH tunnel may show another one. */
  readonly loopbackHosts: ReadonlySet<string>;
  /** Origins given with a scheme, `https://admin.example`. Those without one count for both schemes. */
  readonly origins: ReadonlySet<string>;
  /**
   * Bound to all addresses without a list: the address the connection came in on is allowed. It is
   * an IP address, so no rebound name can equal it.
   */
  readonly ownAddress: boolean;
  readonly enforceOrigin: boolean;
}

/**
 * Makes the list from the configured `origins`, or from the listen address when there are none.
 * @param port the bound port (`spec.port` may be 0)
 */
export function createAllowList(spec: AdminSpec, port: number): AllowList {
  const own = spec.unix === undefined ? listenEntries(spec.host, port) : unixEntries();
  const entries = spec.origins.length > 0 ? spec.origins.map(parseEntry) : own;
  const hosts = entries.map((entry) => hostOf(entry.authority));
  return {
    authorities: new Set(entries.map((entry) => entry.authority)),
    loopbackHosts: new Set(LOOPBACK_NAMES.filter((name) => hosts.includes(name))),
    origins: new Set(entries.flatMap(originsOf)),
    ownAddress: spec.origins.length === 0 && spec.unix === undefined && isWildcard(spec.host),
    enforceOrigin: spec.enforceOrigin,
  };
}

/** Bound to every address of the machine. */
function isWildcard(host: string): boolean {
  return host === '' || host === '0.0.0.0' || host === '::';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** The host part of an authority, brackets kept: `[::1]:2019` → `[::1]`. */
export function hostOf(authority: string): string {
  return authority.replace(/:\d*$/, '');
}

interface Entry {
  /** `http:`, `https:` or ''. */
  readonly scheme: string;
  readonly authority: string;
}

function parseEntry(text: string): Entry {
  const parts = /^(?:([a-z]+:))?(?:\/\/)?([^/]*)/i.exec(text.includes('//') ? text : `//${text}`);
  return { scheme: (parts?.[1] ?? '').toLowerCase(), authority: (parts?.[2] ?? '').toLowerCase() };
}

function listenEntries(host: string, port: number): Entry[] {
  const names = isLoopback(host) || isWildcard(host) ? [...LOOPBACK_NAMES] : [];
  if (!isWildcard(host) && !names.includes(host) && host !== '::1') names.push(host.toLowerCase());
  return names.map((name) => ({
    scheme: '',
    authority: name.startsWith('[') ? `${name}:${port}` : joinHostPort(name, port),
  }));
}

/** A Unix socket has no name: its clients write one of this machine. A page reaches it through a proxy at most, under another. */
function unixEntries(): Entry[] {
  return LOOPBACK_NAMES.map((name) => ({ scheme: '', authority: name }));
}

function originsOf({ scheme, authority }: Entry): string[] {
  return scheme === '' ? [`http://${authority}`, `https://${authority}`] : [`${scheme}//${authority}`];
}
