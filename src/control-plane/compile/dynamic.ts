/** `dynamic`: from config to the sources the control plane asks. */
import type { DynamicUpstreamsConfig, SrvSourceConfig } from '../config/schema/dynamic-upstreams.ts';
import type { Compilation } from './compilation.ts';
import type { DynamicSourceSpec } from './compiled.ts';

/** Labels as DNS takes them; the underscore begins those of SRV records. */
const DNS_NAME =
  /^(?=.{1,253}\.?$)[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$/;

/** Every source, those of `multi` in order. `path` is the JSON path of the source. */
export function compileSources(run: Compilation, path: string, config: DynamicUpstreamsConfig): DynamicSourceSpec[] {
  if (config.source === 'multi') {
    if (config.sources.length === 0) run.fail(path, 'dynamic multi has no sources: write at least one a or srv in it');
    return config.sources.flatMap((source, index) => compileSources(run, `${path}.sources.${index}`, source));
  }
  const shared = {
    resolvers: config.resolver?.addresses ?? run.resolvers,
    refreshMs: config.refresh,
  };
  if (config.source === 'srv') {
    const name = readName(run, path, srvName(config));
    return [{ kind: 'srv', name, port: 0, ipv4: true, ipv6: true, graceMs: config.grace_period, ...shared }];
  }
  const { ipv4, ipv6 } = config.versions ?? { ipv4: true, ipv6: true };
  if (!ipv4 && !ipv6) run.fail(`${path}.versions`, 'dynamic a asks for no address: versions is ipv4, ipv6 or both');
  if (Number.isNaN(config.port)) run.notYet(`${path}.port`, 'placeholders in dynamic upstreams');
  return [{ kind: 'a', name: readName(run, path, config.name), port: config.port, ipv4, ipv6, graceMs: 0, ...shared }];
}

/** With `service` and `proto` as RFC 2782 puts them in front; without, `name` is the whole name. */
function srvName({ service, proto, name }: SrvSourceConfig): string {
  return service === '' && proto === '' ? name : `_${service}._${proto}.${name}`;
}

function readName(run: Compilation, path: string, name: string): string {
  if (/[{}]/.test(name)) run.notYet(path, 'placeholders in dynamic upstreams');
  if (name === '') run.fail(path, 'dynamic has no name: write the one that DNS is asked for');
  if (!DNS_NAME.test(name)) run.fail(path, `'${name}' is no name that DNS can be asked for`);
  return name;
}
