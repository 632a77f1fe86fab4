import { addressKey, type SiteAddress } from '../routing/address.ts';
import { failure } from '../syntax/failure.ts';
import type { Token } from '../syntax/token.ts';
import type { ServedSite, Site } from './site.ts';
import { valuesOf } from './site.ts';

export interface Ports {
  readonly http: number;
  readonly https: number;
}

/** Sites that share their listen addresses become one server. */
export interface ServerGroup {
  readonly listen: readonly string[];
  readonly sites: readonly ServedSite[];
}

/**
 * Sorts every address of every site to where it listens. Listen addresses are in order of their text, and those
 * that serve the same addresses of the same sites are one server.
 */
export function groupByListener(sites: readonly Site[], defaultBind: readonly Token[], ports: Ports): ServerGroup[] {
  const groups = new Map<string, { listen: string[]; sites: readonly ServedSite[] }>();
  const served = servedByListener(sites, defaultBind, ports);
  const numbers = new Map(sites.map((site, index) => [site, index]));
  for (const listen of [...served.keys()].toSorted()) {
    const here = served.get(listen) ?? [];
    const identity = here.map(
      ({ site, addresses }) => `${numbers.get(site) ?? -1} ${addresses.map(addressKey).join(' ')}`,
    );
    const key = identity.join('\n');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { listen: [listen], sites: here });
    else group.listen.push(listen);
  }
  for (const group of groups.values()) checkAmbiguity(group);
  return [...groups.values()];
}

/** Of two sites with the same address on one listener the second would never be reached. */
function checkAmbiguity({ sites }: ServerGroup): void {
  const owners = new Map<string, Site>();
  for (const { site, addresses } of sites) {
    for (const address of addresses) {
      const key = addressKey(address);
      const owner = owners.get(key) ?? site;
      if (owner !== site) throw failure(address.token, `ambiguous site definition: ${key}`);
      owners.set(key, site);
    }
  }
}

function servedByListener(
  sites: readonly Site[],
  defaultBind: readonly Token[],
  ports: Ports,
): Map<string, ServedSite[]> {
  const byListener = new Map<string, ServedSite[]>();
  for (const site of sites) {
    const own = valuesOf(site, 'bind').flatMap((value) => value.addresses);
    const hosts = own.length > 0 ? own : defaultBind;
    const here = new Map<string, SiteAddress[]>();
    for (const address of site.addresses) {
      const port = portOf(address, ports);
      for (const listen of hosts.length > 0 ? hosts.map((host) => listenAddress(host, port)) : [`:${port}`]) {
        appendTo(here, listen, address);
      }
    }
    for (const [listen, addresses] of here) appendTo(byListener, listen, { site, addresses });
  }
  return byListener;
}

function appendTo<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

function portOf(address: SiteAddress, ports: Ports): number {
  const implied = address.scheme === 'http' ? ports.http : ports.https;
  const port = address.port === '' ? implied : Number(address.port);
  const against = address.scheme === 'http' ? ports.https : ports.http;
  if (address.scheme !== '' && port === against && ports.http !== ports.https) {
    throw failure(address.token, `[${addressKey(address)}] scheme and port violate convention`);
  }
  return port;
}

/** What `bind` names, with the port of the site: `tcp6/[::]` → `tcp6/[::]:443`. TCP is not written. */
function listenAddress(bind: Token, port: number): string {
  const [, network = '', rest = ''] = /^(?:([a-z0-9]+)\/)?(.*)$/s.exec(bind.text) ?? [];
  if (network === 'unix' || network === 'unixgram' || network === 'fd') return bind.text;
  if (network !== '' && !/^(?:tcp|udp)[46]?$/.test(network)) {
    throw failure(bind, `unknown network '${network}' in the bind address '${bind.text}'`);
  }
  const host = rest.startsWith('[') && rest.endsWith(']') ? rest.slice(1, -1) : rest;
  const authority = host.includes(':') ? `[${host}]` : host;
  return `${network === '' || network === 'tcp' ? '' : `${network}/`}${authority}:${port}`;
}
