/** Clients that are only thought of, and where a pool would send them. */
import { compileClientIpHeaders } from '../../data-plane/client-ip/header.ts';
import { ipFromBytes, type IpAddress } from '../../shared/net/ip.ts';
import type { PolicyPlan } from '../../shared/plan/types.ts';
import { seededRandom } from '../../shared/random.ts';
import type { PoolSpec } from '../compile/compiled.ts';
import { ExplainedFlow } from './explained-flow.ts';
import { ExplainedRequest, readHead, type Trust } from './explained-request.ts';
import type { TrialPool } from './trial-pool.ts';

const NO_TRUST: Trust = { trusted: null, clientIpList: compileClientIpHeaders([]) };
const MAX_HEAD_BYTES = 1024;
/** Ports of clients: those that Linux gives out unasked. */
const FIRST_PORT = 32_768;
const LAST_PORT = 60_999;
const NO_LOCAL = Object.freeze({ localAddress: '', localPort: 0 });

/** Public-looking IPv4 addresses: first byte 1–223 and neither private nor loopback ones. The same for the same seed. */
export function randomClients(count: number, seed: number): IpAddress[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => {
    for (;;) {
      const bytes = Uint8Array.from({ length: 4 }, () => Math.floor(random.next() * 256));
      const first = bytes[0]!;
      if (first >= 1 && first <= 223 && first !== 10 && first !== 127) return ipFromBytes(bytes)!;
    }
  });
}

/** Every second host of one network, as leases and racks are often numbered. */
export function neighbours(): IpAddress[] {
  return Array.from({ length: 120 }, (_, index) => ipFromBytes(Uint8Array.of(203, 0, 113, 2 * (index + 1)))!);
}

/** The place each client is sent to at its first request, connection or session, −1 = nobody may be picked. */
export function pickAll(
  pool: TrialPool,
  clients: readonly IpAddress[],
  seed: number,
  layer?: PoolSpec['layer'],
): Int32Array {
  return layer === undefined ? pickForRequests(pool, clients, seed) : pickForFlows(pool, clients, seed);
}

/** Each client comes from a port of its own, and makes up a QUIC connection id. */
function pickForFlows(pool: TrialPool, clients: readonly IpAddress[], seed: number): Int32Array {
  const random = seededRandom(seed);
  return Int32Array.from(clients, (client, index) => {
    const port = FIRST_PORT + Math.floor(random.next() * (LAST_PORT - FIRST_PORT));
    const flow = new ExplainedFlow(client, port, NO_LOCAL, seed + index);
    flow.connectionHash = Math.floor(random.next() * 0x1_0000_0000);
    return pool.policy.pick(pool, flow);
  });
}

function pickForRequests(pool: TrialPool, clients: readonly IpAddress[], seed: number): Int32Array {
  const head = readHead('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', MAX_HEAD_BYTES);
  if (typeof head === 'string') throw new Error(`a plain request is refused: ${head}`);
  return Int32Array.from(clients, (client, index) => {
    const connection = { peer: client, peerPort: 0, localAddress: '', localPort: 0 };
    const request = new ExplainedRequest(head, connection, NO_TRUST, 0, seed + index);
    return pool.policy.pick(pool, request);
  });
}

/** What decides where a client goes: its address, nothing lasting, or something else of the request. */
export type Keyed = 'client' | 'nothing' | 'request';

const UNKEYED: readonly string[] = [
  'random',
  'random_choose',
  'least_conn',
  'weighted_least_conn',
  'round_robin',
  'weighted_round_robin',
  'first',
  // Each connection has its own place, so a client has none.
  'tuple_hash',
  'quic_cid',
];

/** Of a cookie policy it is the fallback that places new clients. */
export function keyedBy(plan: PolicyPlan): Keyed {
  if (plan.policy === 'cookie') return keyedBy(plan.fallback);
  if (plan.policy === 'ip_hash' || plan.policy === 'source_hash') return 'client';
  return UNKEYED.includes(plan.policy) ? 'nothing' : 'request';
}
