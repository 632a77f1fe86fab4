import type { CookiePlan, PolicyPlan } from '../../shared/plan/types.ts';
import type { PoolSpec } from '../compile/compiled.ts';
import { keyedBy, pickAll, randomClients } from '../explain/clients.ts';
import { idlePool } from '../explain/trial-pool.ts';

/** Enough for a percent or two. */
const CLIENTS = 2000;
/** Beyond it the answer would hold up the control plane for longer than it is worth. */
const MAX_MEMBERS = 2000;
const SEED = 7;

/**
 * The share of clients that get another server when one pool takes the place of another, with every server up; null
 * when clients have no server of their own, before or after, or the pools are too large to say.
 */
export function movedShare(before: PoolSpec, after: PoolSpec): number | null {
  if (Math.max(before.members.length, after.members.length) > MAX_MEMBERS) return null;
  const [old, fresh] = [before.section.policy, after.section.policy];
  const honoured = keepsCookies(old, fresh);
  if (!honoured && (keyedBy(old) !== 'client' || keyedBy(fresh) !== 'client')) return null;
  const clients = randomClients(CLIENTS, SEED);
  const were = serversOf(before, clients);
  const are = serversOf(after, clients);
  const left = new Set(after.members.map(({ identity }) => identity));
  const moved = were.filter((server, client) => (honoured ? !left.has(server) : server !== are[client]));
  return moved.length / clients.length;
}

/** Cookies of the old pool name servers of the new one, as long as name and a secret are the same. */
function keepsCookies(before: PolicyPlan, after: PolicyPlan): boolean {
  return before.policy === 'cookie' && after.policy === 'cookie' && readsTokensOf(after, before);
}

function readsTokensOf(after: CookiePlan, before: CookiePlan): boolean {
  const signing = before.secrets[0];
  return after.name === before.name && signing !== undefined && after.secrets.includes(signing);
}

function serversOf(spec: PoolSpec, clients: ReturnType<typeof randomClients>): string[] {
  const places = pickAll(
    idlePool(spec, () => false),
    clients,
    SEED,
  );
  return Array.from(places, (place) => (place < 0 ? '' : spec.members[place]!.identity));
}
