import type { JsonObject } from '../json.ts';
import type { ServerGroup } from './listeners.ts';
import { servesAllHosts, type ServedSite, valuesOf } from './site.ts';

/** `logs` of a server: which of its hosts are logged, and by which logger; null when no site logs. */
export function serverLogs(group: ServerGroup, logCredentials: boolean): JsonObject | null {
  const logs: JsonObject = {};
  const names = new Map<string, string[]>();
  const skip: string[] = [];
  if (group.sites.some(({ site }) => valuesOf(site, 'log').length > 0)) {
    for (const served of group.sites) addSite(served, logs, names, skip);
  }
  if (names.size > 0) logs['logger_names'] = Object.fromEntries(names);
  if (skip.length > 0) logs['skip_hosts'] = skip.toSorted();
  if (logCredentials) logs['should_log_credentials'] = true;
  const anyLog = group.sites.some(({ site }) => valuesOf(site, 'log').length > 0);
  return anyLog || logCredentials ? logs : null;
}

function addSite(served: ServedSite, logs: JsonObject, names: Map<string, string[]>, skip: string[]): void {
  const hosts = [...new Set(served.addresses.map(({ host }) => host).filter((host) => host !== ''))];
  const values = valuesOf(served.site, 'log');
  if (values.length === 0) {
    if (servesAllHosts(served)) logs['skip_unmapped_hosts'] = true;
    else for (const host of hosts) skip.push(host);
    return;
  }
  for (const { log } of values) {
    if (log.noHostname) continue;
    if (log.hostnames.length === 0 && servesAllHosts(served)) {
      if (log.name !== '') logs['default_logger_name'] = log.name;
      continue;
    }
    for (const host of log.hostnames.length > 0 ? log.hostnames : hosts) {
      names.set(host, [...(names.get(host) ?? []), log.name]);
    }
  }
}
