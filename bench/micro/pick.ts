/** Nanoseconds a pick: `node bench/micro/pick.ts`. ip_hash over clients that differ, all members up and every second one down. */
import { parseIp, type IpAddress } from '../../src/shared/net/ip.ts';
import type { IpHashPlan } from '../../src/shared/plan/types.ts';
import { MEMBER_DOWN } from '../../src/shared/state-table/layout.ts';
import { buildPolicy } from '../../src/data-plane/select/index.ts';
import { identitiesOf, IP_HASH, makePool, makeRequest } from '../../src/data-plane/select/policy.contract.ts';
import type { PickRequest } from '../../src/data-plane/select/policy.ts';
import { cpuNs } from './cpu.ts';

const CALLS = 1_000_000;
const CLIENTS = 1_024;

/** A request per client, so that the policy meets many keys; built before anything is timed. */
function requestsOf(clients: readonly (IpAddress | null)[]): PickRequest[] {
  return clients.map((client) => makeRequest({ client }));
}

function measure(mapping: IpHashPlan['mapping'], size: number, down: boolean): void {
  const pool = makePool(size);
  if (down) for (let position = 0; position < size; position += 2) pool.states[position] = MEMBER_DOWN;
  const policy = buildPolicy({ ...IP_HASH, mapping }, { identities: identitiesOf(size) });
  const requests = requestsOf(Array.from({ length: CLIENTS }, (_, at) => parseIp(`203.0.${at >> 8}.${at & 255}`)));
  let at = 0;
  const ns = cpuNs(CALLS, () => {
    at = (at + 1) % CLIENTS;
    if (policy.pick(pool, requests[at]!) < 0) throw new Error('nobody picked');
  });
  console.log(`ip_hash ${mapping}, ${size} members, ${down ? 'half of them down' : 'all up'}: ${ns.toFixed(0)} ns`);
}

for (const mapping of ['modulo', 'rendezvous'] as const) {
  for (const size of [3, 64]) {
    measure(mapping, size, false);
    measure(mapping, size, true);
  }
}
