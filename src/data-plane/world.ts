/** One worker's world, passed as an argument to everything that runs in it. */
import type { Clock } from '../shared/clock.ts';
import type { SectionHash } from '../shared/plan/types.ts';
import type { Random } from '../shared/random.ts';
import type { Rows } from '../shared/state-table/table.ts';
import type { AccessLog } from './access-log.ts';
import type { ClientConnection } from './client-connection.ts';
import type { Errands } from './errands/errands.ts';
import type { Head } from './http1/head.ts';
import type { Endpoints } from './pool/endpoints.ts';
import type { Streams } from './proxy/streams.ts';
import type { Generation, HttpServer } from './server.ts';
import type { TimerWheel } from './wheel.ts';

export interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly wheel: TimerWheel;
  /** Rows of the worker's own lane. */
  readonly facts: Rows;
  readonly servers: Rows;
  readonly endpoints: Endpoints;
  readonly streams: Streams;
  readonly accessLog: AccessLog;
  /** What a request waits for besides its upstream. */
  readonly errands: Pick<Errands, 'run'>;
  /** No keep-alive any more: the worker is draining. */
  readonly draining: boolean;
  /** The server and generation for the next request of a listener; null when the listener is gone. */
  current(listenerKey: string): { readonly server: HttpServer; readonly generation: Generation } | null;
  exchangeStarted(generation: Generation): void;
  exchangeEnded(generation: Generation): void;
  tunnelStarted(): void;
  tunnelEnded(): void;
  connectionClosed(connection: ClientConnection): void;
  /** A dial to the slot failed: its name may have moved. */
  dialFailed(slot: number, code: string): void;
  /** The upstream sent something that is not HTTP. */
  upstreamInvalid(slot: number, upstream: string, detail: string): void;
  /** A passive check has something to tell: see the message of that name. */
  passiveResult(pool: SectionHash, row: number, outcome: 'failed' | 'passed', strike: number): void;
  /** Request heads are lent for the time of an exchange, so that an idle connection owns none. */
  takeHead(): Head;
  giveHead(head: Head): void;
}
