/** What a new config changes, for the person who loads it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CompiledConfig, PoolSpec } from '../compile/compiled.ts';
import { describeMatch } from '../explain/describe-match.ts';
import type { Layer4Section } from '../../shared/plan/layer4.ts';
import type { SectionHash, SiteSection } from '../../shared/plan/types.ts';
import { shortHash } from '../upstreams/status.ts';
import { movedShare } from './moved-share.ts';

export interface ConfigChange {
  readonly change: 'added' | 'removed' | 'changed';
  readonly what: 'listener' | 'server' | 'site' | 'pool' | 'admin' | 'global';
  /** `tcp/:8080`, `srv0`, `host a.example`, `handle_errors host a.example`, the short hash of a pool … */
  readonly name: string;
  /** What is different about it; ''. */
  readonly detail: string;
  /** Of a pool: the share of its clients that get another server, 0 to 1; null = not known, or none has a server of its own. */
  readonly moved: number | null;
}

/** Shares of clients are worked out for so many pools: some milliseconds each. */
const MAX_SHARES = 16;

/** In the order listeners, servers, sites, pools, the rest. Nothing for the first config. */
export async function changesBetween(
  before: CompiledConfig | null,
  after: CompiledConfig,
): Promise<readonly ConfigChange[]> {
  if (before === null) return [];
  const pairs = pairSites(before, after);
  return [
    ...listed('listener', keysOf(before), keysOf(after)),
    ...serverChanges(before, after),
    ...layer4Changes(before, after),
    ...pairs.flatMap(siteChange),
    ...(await poolChanges(before, after, [...pairs, ...pairLayer4(before, after)])),
    ...restChanges(before, after),
  ];
}

function keysOf({ listeners }: CompiledConfig): string[] {
  return listeners.map(({ key }) => key);
}

function entry(
  change: ConfigChange['change'],
  what: ConfigChange['what'],
  name: string,
  detail = '',
  moved: number | null = null,
): ConfigChange {
  return { change, what, name, detail, moved };
}

function listed(what: ConfigChange['what'], before: readonly string[], after: readonly string[]): ConfigChange[] {
  const [old, fresh] = [new Set(before), new Set(after)];
  return [
    ...after.filter((name) => !old.has(name)).map((name) => entry('added', what, name)),
    ...before.filter((name) => !fresh.has(name)).map((name) => entry('removed', what, name)),
  ];
}

function serverChanges(before: CompiledConfig, after: CompiledConfig): ConfigChange[] {
  const old = new Map(before.servers.map((server) => [server.name, server]));
  const changed = after.servers.flatMap((server) => {
    const options = differing(old.get(server.name)?.options, server.options);
    return options.length === 0 ? [] : [entry('changed', 'server', server.name, options.join(', '))];
  });
  const names = ({ servers }: CompiledConfig): string[] => servers.map(({ name }) => name);
  return [...listed('server', names(before), names(after)), ...changed];
}

/** A layer-4 server has no sites: what is new about its routes is new about it. */
function layer4Changes(before: CompiledConfig, after: CompiledConfig): ConfigChange[] {
  const old = new Map(before.layer4.map((server) => [server.name, server]));
  const changed = after.layer4.flatMap((server) => {
    const known = old.get(server.name);
    if (known === undefined) return [];
    const options = differing(
      { ...known.options, network: known.network },
      { ...server.options, network: server.network },
    );
    const routes = routesText(before, known.section) === routesText(after, server.section) ? [] : ['routes'];
    const all = [...options, ...routes];
    return all.length === 0 ? [] : [entry('changed', 'server', layer4Name(server), all.join(', '))];
  });
  const names = ({ layer4 }: CompiledConfig): string[] => layer4.map(layer4Name);
  return [...listed('server', names(before), names(after)), ...changed];
}

function layer4Name({ name }: CompiledConfig['layer4'][number]): string {
  return `layer4 ${name}`;
}

/** Pools are told of by themselves, so here one stands for its place among those of the server. */
function routesText(config: CompiledConfig, hash: SectionHash): string {
  const section = layer4Section(config, hash);
  const pools = section?.pools ?? [];
  return JSON.stringify(section?.routes, (key, value: unknown) =>
    key === 'pool' && typeof value === 'string' ? pools.indexOf(value) : value,
  );
}

function layer4Section({ sections }: CompiledConfig, hash: SectionHash): Layer4Section | null {
  const section = sections.get(hash);
  return section?.kind === 'layer4' ? section : null;
}

function pairLayer4(before: CompiledConfig, after: CompiledConfig): PoolUsers[] {
  const old = new Map(before.layer4.map((server) => [server.name, layer4Section(before, server.section)]));
  return after.layer4.map((server) => ({
    before: old.get(server.name) ?? null,
    after: layer4Section(after, server.section),
  }));
}

/** Names of the fields that differ; none when there was nothing before. */
function differing(before: object | undefined, after: object): string[] {
  if (before === undefined) return [];
  const old = new Map<string, unknown>(Object.entries(before));
  return Object.entries(after)
    .filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(old.get(key)))
    .map(([key]) => key);
}

/** The same site or layer-4 server in both configs. */
interface PoolUsers {
  readonly before: { readonly pools: readonly SectionHash[] } | null;
  readonly after: { readonly pools: readonly SectionHash[] } | null;
}

interface SitePair extends PoolUsers {
  readonly name: string;
  readonly before: SiteSection | null;
  readonly after: SiteSection | null;
}

/** Sites belong together when they are of one server and have the same conditions; of several such the first ones. */
function pairSites(before: CompiledConfig, after: CompiledConfig): SitePair[] {
  const old = sitesByName(before);
  const fresh = sitesByName(after);
  return [...new Set([...fresh.keys(), ...old.keys()])].flatMap((name) => {
    const [left, right] = [old.get(name) ?? [], fresh.get(name) ?? []];
    return Array.from({ length: Math.max(left.length, right.length) }, (_, at) => ({
      name: name.slice(name.indexOf(' ') + 1),
      before: left[at] ?? null,
      after: right[at] ?? null,
    }));
  });
}

function sitesByName({ servers, sections }: CompiledConfig): Map<string, SiteSection[]> {
  const found = new Map<string, SiteSection[]>();
  for (const server of servers) {
    const add = (hash: SectionHash, kind: string): void => {
      const section = sections.get(hash);
      if (section?.kind !== 'site') return;
      const name = `${server.name} ${kind}${describeMatch(section.route.match)}`;
      found.set(name, [...(found.get(name) ?? []), section]);
    };
    for (const hash of server.sites) add(hash, '');
    for (const hash of server.errorSites) add(hash, 'handle_errors ');
  }
  return found;
}

function siteChange({ name, before, after }: SitePair): ConfigChange[] {
  if (before === null) return [entry('added', 'site', name)];
  if (after === null) return [entry('removed', 'site', name)];
  return before.hash === after.hash ? [] : [entry('changed', 'site', name)];
}

async function poolChanges(
  before: CompiledConfig,
  after: CompiledConfig,
  users: readonly PoolUsers[],
): Promise<ConfigChange[]> {
  const [old, fresh] = [poolsOf(before), poolsOf(after)];
  const left = new Map([...old].filter(([hash]) => !fresh.has(hash)));
  const right = new Map([...fresh].filter(([hash]) => !old.has(hash)));
  const changes: ConfigChange[] = [];
  for (const [from, to] of users.flatMap((pair) => pairPools(pair, left, right))) {
    if (!left.delete(from.hash) || !right.delete(to.hash)) continue;
    const moved = changes.length < MAX_SHARES ? movedShare(from, to) : null;
    changes.push(entry('changed', 'pool', shortHash(to.hash), poolDetail(from, to), moved));
    await nextTurn();
  }
  const named = (spec: PoolSpec): string => namesIn(spec).slice(0, 4).join(' ');
  return [
    ...changes,
    ...[...right.values()].map((spec) => entry('added', 'pool', shortHash(spec.hash), named(spec))),
    ...[...left.values()].map((spec) => entry('removed', 'pool', shortHash(spec.hash), named(spec))),
  ];
}

/** Upstreams as the config writes them. */
function namesIn({ members, pattern }: PoolSpec): string[] {
  return pattern?.map(({ template }) => template) ?? members.map(({ upstream }) => upstream);
}

function poolsOf({ pools }: CompiledConfig): Map<SectionHash, PoolSpec> {
  return new Map(pools.map((spec) => [spec.hash, spec]));
}

/** Pools of one site or layer-4 server that are not the same any more, the first with the first. */
function pairPools(
  { before, after }: PoolUsers,
  left: ReadonlyMap<SectionHash, PoolSpec>,
  right: ReadonlyMap<SectionHash, PoolSpec>,
): (readonly [PoolSpec, PoolSpec])[] {
  const gone = (before?.pools ?? []).flatMap((hash) => left.get(hash) ?? []);
  const come = (after?.pools ?? []).flatMap((hash) => right.get(hash) ?? []);
  return gone.slice(0, come.length).map((spec, at) => [spec, come[at]!] as const);
}

function poolDetail(before: PoolSpec, after: PoolSpec): string {
  const changes = listed('pool', namesIn(before), namesIn(after)).map(
    ({ change, name }) => `${change === 'added' ? '+' : '-'}${name}`,
  );
  const { members: _before, hash: _old, ...old } = before.section;
  const { members: _after, hash: _new, ...fresh } = after.section;
  const options = differing({ ...old, check: before.check }, { ...fresh, check: after.check });
  const all = [...changes, ...options];
  return (all.length === 0 ? ['order of upstreams'] : all).join(', ');
}

function restChanges(before: CompiledConfig, after: CompiledConfig): ConfigChange[] {
  const { servers: _s, layer4: _4, sections: _c, pools: _p, listeners: _l, admin, ...rest } = after;
  const options = differing(before, rest);
  return [
    ...(differing(before.admin, admin).length === 0 ? [] : [entry('changed', 'admin', admin.enabled ? 'on' : 'off')]),
    ...(options.length === 0 ? [] : [entry('changed', 'global', options.join(', '))]),
  ];
}
