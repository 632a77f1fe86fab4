import type { SiteLog } from '../context.ts';
import type { JsonObject } from '../json.ts';
import type { GlobalOptions } from '../global/option.ts';
import { type Site, valuesOf } from './site.ts';

/**
 * `logging`: the loggers of the global options and of the sites. What a logger takes for itself the default
 * one leaves out; `debug` lowers the level of those that name none.
 */
export function loggingOf(options: GlobalOptions, sites: readonly Site[]): JsonObject | null {
  const logs = [...options.logs];
  if (options.debug && !logs.some(({ name }) => name === 'default')) logs.push(defaultLog());
  for (const site of sites) for (const { log } of valuesOf(site, 'log')) logs.push(log);
  const named = new Map<string, JsonObject>();
  for (const { name, config } of logs) {
    if (name === '' || config === null) continue;
    if (options.debug) config['level'] ??= 'DEBUG';
    named.set(name, config);
  }
  excludeFromDefault(named);
  return named.size === 0 ? null : { logs: Object.fromEntries(named) };
}

function defaultLog(): SiteLog {
  return { name: 'default', config: { level: 'DEBUG' }, hostnames: [], noHostname: false };
}

function excludeFromDefault(named: Map<string, JsonObject>): void {
  const taken = [...named].flatMap(([name, config]) => (name === 'default' ? [] : textsOf(config['include'])));
  if (taken.length === 0) return;
  const main = named.get('default') ?? {};
  main['exclude'] = [...new Set([...textsOf(main['exclude']), ...taken])].toSorted();
  named.set('default', main);
}

function textsOf(value: JsonObject[string] | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
