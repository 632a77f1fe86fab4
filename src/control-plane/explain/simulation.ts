/** How clients spread over a pool, and what the failure of one server would move. */
import type { IpAddress } from '../../shared/net/ip.ts';
import type { PolicyPlan } from '../../shared/plan/types.ts';
import type { MemberSpec, PoolSpec } from '../compile/compiled.ts';
import { shortHash } from '../upstreams/status.ts';
import { keyedBy, neighbours, pickAll, type Keyed } from './clients.ts';
import { idlePool } from './trial-pool.ts';

/** Failures that are played through: those of the first members. Each costs a pick a client. */
const MAX_FAILURES = 32;
/** A server with this many times its fair share is worth a word. */
const SKEW = 1.5;
/** Below this many clients a server shares are chance. */
const MIN_CLIENTS_PER_MEMBER = 20;
const SEED = 1;

export interface Simulation {
  /** Short hash of the pool. */
  readonly pool: string;
  readonly layer: 'http' | 'tcp' | 'udp';
  readonly policy: string;
  readonly keyed: Keyed;
  readonly clients: number;
  /** Clients for whom nobody could be picked. */
  readonly unserved: number;
  readonly members: readonly MemberShare[];
  /** What makes some servers busier than others, and the lines that mend it. */
  readonly advice: readonly Advice[];
}

export interface MemberShare {
  readonly upstream: string;
  readonly down: boolean;
  readonly clients: number;
  /** When this server fails too; null = it is down, or the pool is too large to try them all. */
  readonly failure: Failure | null;
}

export interface Failure {
  /** Clients of this server that others take. */
  readonly own: number;
  /** Clients of healthy servers that move as well. */
  readonly others: number;
  /** Clients that nobody takes. */
  readonly lost: number;
}

interface Advice {
  readonly what: string;
  /** Lines of a Caddyfile. */
  readonly lines: readonly string[];
}

/** `clients` may hold an address many times: each counts. */
export function simulate(
  spec: PoolSpec,
  clients: readonly IpAddress[],
  isDown: (member: MemberSpec) => boolean,
): Simulation {
  const keyed = keyedBy(spec.section.policy);
  const places = placesOf(spec, clients, isDown);
  const counts = countPlaces(places, spec.members.length);
  const members = spec.members.map((member, position) => ({
    upstream: member.upstream,
    down: isDown(member),
    clients: counts[position]!,
    failure: isDown(member) || position >= MAX_FAILURES ? null : failureOf(spec, clients, isDown, places, position),
  }));
  return {
    pool: shortHash(spec.hash),
    layer: spec.layer ?? 'http',
    policy: spec.section.policy.policy,
    keyed,
    clients: clients.length,
    unserved: places.reduce((sum, place) => sum + (place < 0 ? 1 : 0), 0),
    members,
    advice: keyed === 'client' ? [...adviseCrowd(clients, spec), ...adviseParity(spec)] : [],
  };
}

function placesOf(spec: PoolSpec, clients: readonly IpAddress[], isDown: (member: MemberSpec) => boolean): Int32Array {
  return pickAll(idlePool(spec, isDown), clients, SEED, spec.layer);
}

function countPlaces(places: Int32Array, size: number): number[] {
  const counts = Array.from({ length: size }, () => 0);
  for (const place of places) if (place >= 0) counts[place]! += 1;
  return counts;
}

/** A client with a cookie stays where it is while its server lives, whatever its address says. */
function failureOf(
  spec: PoolSpec,
  clients: readonly IpAddress[],
  isDown: (member: MemberSpec) => boolean,
  before: Int32Array,
  failing: number,
): Failure {
  const after = placesOf(spec, clients, (member) => isDown(member) || member === spec.members[failing]);
  const sticky = spec.section.policy.policy === 'cookie' || keyedBy(spec.section.policy) !== 'client';
  let own = 0;
  let others = 0;
  let lost = 0;
  before.forEach((place, client) => {
    const next = after[client]!;
    if (place !== failing) others += !sticky && place !== next ? 1 : 0;
    else if (next < 0) lost += 1;
    // With best effort a server that is the last one goes on being tried.
    else if (next !== failing) own += 1;
  });
  return { own, others, lost };
}

/** One address that stands for most requests is a proxy or a NAT, not a client. */
function adviseCrowd(clients: readonly IpAddress[], { layer }: PoolSpec): Advice[] {
  const counts = new Map<string, number>();
  for (const { text } of clients) counts.set(text, (counts.get(text) ?? 0) + 1);
  const [top, count] = [...counts].reduce((best, entry) => (entry[1] > best[1] ? entry : best), ['', 0] as const);
  if (clients.length < 2 || count * 2 <= clients.length) return [];
  const percent = Math.round((100 * count) / clients.length);
  if (layer === 'udp') return [];
  if (layer === 'tcp') {
    const what = `${percent} % of the connections come from ${top}, so one upstream holds them all. If it is a proxy, let it say who its clients are`;
    return [{ what, lines: ['proxy_protocol {', `\tallow ${top}`, '}'] }];
  }
  return [
    {
      what: `${percent} % of the requests come from ${top}, so one upstream holds them all. If it is a proxy, believe what it says about its clients`,
      lines: ['servers {', `\ttrusted_proxies static ${top}`, '}'],
    },
    {
      what: 'If it is a NAT, give each browser behind it a cookie',
      lines: ['lb_policy cookie {', '\tfallback ip_hash', '}'],
    },
  ];
}

/** FNV-1a keeps the parity of the address: with an even number of servers even hosts share half of them. */
function adviseParity(spec: PoolSpec): Advice[] {
  const size = spec.members.length;
  const clients = neighbours();
  if (!usesModulo(spec.section.policy) || size < 2 || clients.length / size < MIN_CLIENTS_PER_MEMBER) return [];
  const most = Math.max(
    ...countPlaces(
      placesOf(spec, clients, () => false),
      size,
    ),
  );
  if (most * size <= SKEW * clients.length) return [];
  const percent = Math.round((100 * most) / clients.length);
  const cure = ['mapping rendezvous'];
  return [
    {
      what: `of neighbours with even addresses (.2, .4, .6, …) one upstream would get ${percent} %`,
      lines: linesFor(spec.section.policy, cure),
    },
  ];
}

function usesModulo(policy: PolicyPlan): boolean {
  return policy.policy === 'cookie'
    ? usesModulo(policy.fallback)
    : policy.policy === 'ip_hash' && policy.mapping === 'modulo';
}

function linesFor(policy: PolicyPlan, options: readonly string[]): string[] {
  if (policy.policy !== 'cookie') return ['lb_policy ip_hash {', ...options.map((line) => `\t${line}`), '}'];
  const inner = linesFor(policy.fallback, options).map((line) => `\t${line.replace(/^lb_policy /, 'fallback ')}`);
  return [`lb_policy cookie ${policy.name} {`, ...inner, '}'];
}
