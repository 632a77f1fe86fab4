import { MEMBER_DOWN, MEMBER_FULL, MEMBER_MAINT, MEMBER_STRUCK } from '../../shared/state-table/layout.ts';
import { compileClientKeys, DEFAULT_KEY_OPTIONS, describeClientKey, type ClientKeys } from './client-key.ts';
import { describeCandidates, describeMember, describePick } from './describe.ts';
import { MaglevTable } from './maglev.ts';
import type { PickRequest, Policy, PoolView } from './policy.ts';

/**
 * A QUIC connection stays with its server when its client gets another address or port: a datagram whose connection id
 * a server has given out goes to that server. A new connection goes where the id says that its client made up
 * for it, by a Maglev table; so do its retransmissions, from wherever they come. What is neither goes by the
 * client's address, as with `source_hash`.
 */
export function createQuicCid(identities: readonly string[]): Policy {
  const keys = compileClientKeys(DEFAULT_KEY_OPTIONS);
  const table = new MaglevTable(identities);
  const pick = (pool: PoolView, request: PickRequest): number => {
    const known = request.flow?.knownPosition ?? -1;
    if (known >= 0 && keepsOwn(pool, request, known)) return known;
    return table.pick(pool, request, hashOf(keys, request));
  };
  return {
    name: 'quic_cid',
    pick,
    answered: () => '',
    explain: (pool, request) => [
      describeKey(keys, request),
      describeCandidates(pool, request),
      ...describeKnown(pool, request),
      ...table.describe(pool, request, hashOf(keys, request)),
      describePick(pool, pick(pool, request)),
    ],
  };
}

/** A connection that runs already goes on while its server drains, or is no more than a backup; not when it would fail. */
function keepsOwn(pool: PoolView, request: PickRequest, position: number): boolean {
  const state = pool.state(position);
  const isLost = state === MEMBER_DOWN || state === MEMBER_MAINT || state === MEMBER_STRUCK || state === MEMBER_FULL;
  return !isLost && !request.tried.includes(position);
}

function hashOf(keys: ClientKeys, { client, flow }: PickRequest): number {
  return flow === null || flow.connectionHash < 0 ? keys.hash(client) : flow.connectionHash;
}

function describeKey(keys: ClientKeys, { client, flow }: PickRequest): string {
  if (flow !== null && flow.connectionHash >= 0)
    return `key is the connection id of the client, hash ${flow.connectionHash}`;
  return `no new QUIC connection: ${describeClientKey(keys, client, null)}`;
}

function describeKnown(pool: PoolView, request: PickRequest): readonly string[] {
  const known = request.flow?.knownPosition ?? -1;
  if (known < 0) return [];
  const stays = keepsOwn(pool, request, known) ? 'it stays there' : 'which cannot take it any more';
  return [`the connection is known to be on upstream ${describeMember(pool, known)}: ${stays}`];
}
