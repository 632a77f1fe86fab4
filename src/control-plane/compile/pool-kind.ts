/** What tells the pools of the layers apart while they are compiled. */
import { readUpstream } from './upstream-address.ts';
import type { UpstreamAddress } from './upstream-address.ts';

export interface PoolKind {
  readonly layer: 'http' | 'tcp' | 'udp';
  /** The directive it stands in. */
  readonly directive: string;
  /** What to write for an active check, in messages. */
  readonly checkAdvice: string;
  /** Where its parts stand below the handler, for positions. */
  readonly places: { readonly policy: string; readonly localAddress: string; readonly transport: string };
  /** Reads the `dial` of an upstream. */
  readonly readUpstream: (dial: string, defaultPort?: number) => UpstreamAddress;
}

export const HTTP_POOL: PoolKind = Object.freeze({
  layer: 'http',
  directive: 'reverse_proxy',
  checkAdvice: 'health_uri',
  places: {
    policy: 'load_balancing.selection_policy',
    localAddress: 'transport.local_address',
    transport: 'transport',
  },
  readUpstream,
});
