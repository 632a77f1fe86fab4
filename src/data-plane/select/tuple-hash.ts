import { parseIp } from '../../shared/net/ip.ts';
import { joinHostPort } from '../../shared/net/address.ts';
import { describeCandidates, describePick } from './describe.ts';
import { fnv1aByte, fnv1aBytes, FNV_OFFSET } from './hash.ts';
import { MaglevTable } from './maglev.ts';
import type { PickRequest, Policy } from './policy.ts';

/**
 * A connection goes where its four numbers say: client address and port, and the address and port it came in at. Nodes
 * agree about every connection; a client's next one has another port, and may go elsewhere.
 */
export function createTupleHash(identities: readonly string[]): Policy {
  const table = new MaglevTable(identities);
  return {
    name: 'tuple_hash',
    pick: (pool, request) => table.pick(pool, request, tupleHash(request)),
    answered: () => '',
    explain: (pool, request) => [
      describeTuple(request),
      describeCandidates(pool, request),
      ...table.describe(pool, request, tupleHash(request)),
      describePick(pool, table.pick(pool, request, tupleHash(request))),
    ],
  };
}

/** FNV-1a over the bytes of both addresses, each followed by its port in network order. */
export function tupleHash({ client, flow }: PickRequest): number {
  let hash = client === null ? FNV_OFFSET : fnv1aBytes(FNV_OFFSET, client.bytes);
  if (flow === null) return hash;
  hash = addPort(hash, flow.peerPort);
  const local = parseIp(flow.localAddress);
  if (local !== null) hash = fnv1aBytes(hash, local.bytes);
  return addPort(hash, flow.localPort);
}

function addPort(hash: number, port: number): number {
  return fnv1aByte(fnv1aByte(hash, port >>> 8), port & 0xff);
}

function describeTuple(request: PickRequest): string {
  const { client, flow } = request;
  const from = joinHostPort(client?.text ?? 'no address', flow?.peerPort ?? 0);
  const to = joinHostPort(flow?.localAddress ?? '', flow?.localPort ?? 0);
  return `key ${from} to ${to}, hash ${tupleHash(request)}`;
}
