import type { Admission } from '../admission.ts';
import type { TlsMemory } from '../pool/tls-memory.ts';
import type { TlsFront } from '../tls/front.ts';
import type { World } from '../world.ts';
import type { NewRate } from './new-rate.ts';

/** A worker's world as layer 4 needs it. */
export interface Layer4World extends Pick<
  World,
  | 'clock'
  | 'random'
  | 'wheel'
  | 'facts'
  | 'servers'
  | 'dialFailed'
  | 'passiveResult'
  | 'exchangeStarted'
  | 'exchangeEnded'
  | 'tunnelStarted'
  | 'tunnelEnded'
> {
  readonly admission: Pick<Admission, 'take' | 'leave'>;
  readonly newRate: Pick<NewRate, 'admit'>;
  /** Handshakes with clients. */
  readonly tls: Pick<TlsFront, 'accept'>;
  /** For handshakes with servers. */
  readonly upstreamTls: TlsMemory;
  /** One sentence on why a server cannot be spoken to. */
  legFailed(slot: number, detail: string): void;
  /** All upstream sockets of a worker read into this one buffer: reads are synchronous and never nest. */
  readonly readBuffer: Buffer;
  /** Counts client connections of the worker: the acceptor sends new ones to the worker with the fewest. */
  countConnections(delta: 1 | -1): void;
}
