/**
 * The typed union of what control plane and workers say to each other. Facts and decisions that
 * change per request go through the state table instead.
 */
import type { Server, Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { LogFields, LogLevel } from './log.ts';
import type {
  AccessSink,
  MemberPlan,
  MemberRows,
  PlanManifest,
  PoolRows,
  PoolSection,
  Section,
  SectionHash,
} from './plan/types.ts';
import type { CertificatePlan } from './plan/tls.ts';
import type { TableChunk } from './state-table/table.ts';

/** `workerData` of a data-plane worker. */
export interface WorkerInit {
  readonly lane: number;
  readonly name: string;
  readonly chunks: readonly TableChunk[];
}

/** What a worker binds itself. */
export type BindTarget =
  | {
      readonly network: 'udp';
      /** An IP address. */
      readonly host: string;
      readonly port: number;
      readonly reusePort: boolean;
      /** Fail while anybody else is bound to it, also one who would share it. */
      readonly alone: boolean;
    }
  | { readonly network: 'unix'; readonly path: string; readonly mode: number };

/** Control plane → worker. */
export type ControlMessage =
  | { readonly type: 'table'; readonly chunk: TableChunk }
  /**
   * The next members of a pool that is too large for one message; the last ones come with its `section`.
   * Answered by `section-staged`.
   */
  | {
      readonly type: 'members';
      readonly pool: SectionHash;
      readonly members: readonly MemberPlan[];
      readonly rows: readonly MemberRows[];
    }
  /** `rows` is null for a site section. Answered by `section-staged` or `stage-failed`. */
  | { readonly type: 'section'; readonly section: Section; readonly rows: PoolRows | null }
  /** Compile the generation; answered by `staged` or `stage-failed`. */
  | { readonly type: 'stage'; readonly manifest: PlanManifest }
  /** Put it in force; answered by `committed`. */
  | { readonly type: 'commit'; readonly generation: number }
  /** Forget it and every section only it named. */
  | { readonly type: 'rollback'; readonly generation: number }
  /** A name resolved to other addresses. */
  | { readonly type: 'endpoints'; readonly pool: SectionHash; readonly member: number; readonly rows: MemberRows }
  /** A pool found in DNS has other members, or they live at other addresses. */
  | { readonly type: 'pool'; readonly pool: SectionHash; readonly rows: PoolRows }
  /** A listening server, transferred. `key` is the listener's. */
  | { readonly type: 'listen'; readonly key: string; readonly server: Server }
  /** Accept mode `shared`: accepted sockets arrive on this port as `AcceptedMessage`. */
  | { readonly type: 'acceptor'; readonly port: MessagePort }
  /** A socket accepted by another thread, transferred. */
  | { readonly type: 'accepted'; readonly key: string; readonly socket: Socket }
  /** Give the listening server of `key` back; answered by `server`. */
  | { readonly type: 'give-back'; readonly key: string }
  /**
   * Bind a socket that cannot move between threads; it is silent until `open-socket`. `id` names it here, `key` the
   * listener in plans. Answered by `socket-bound` or `bind-failed`.
   */
  | { readonly type: 'bind'; readonly id: string; readonly key: string; readonly target: BindTarget }
  /** Its plan is in force. */
  | { readonly type: 'open-socket'; readonly id: string }
  /** Give the address back; answered by `socket-closed`. */
  | { readonly type: 'close-socket'; readonly id: string }
  /** A slot nobody names any more: close its idle connections. */
  | { readonly type: 'forget-slots'; readonly slots: readonly number[] }
  /** The drain deadline of these slots passed: end their exchanges and tunnels. */
  | { readonly type: 'cut-slots'; readonly slots: readonly number[] }
  /**
   * The `drain` of a pool ends what runs for it on these slots. finish: FIN (and a close frame) where there are two
   * sides to say goodbye to; reset: at once.
   */
  | {
      readonly type: 'cut-pool';
      readonly pool: SectionHash;
      readonly slots: readonly number[];
      readonly how: 'finish' | 'reset';
    }
  /** Answers `derive`. */
  | DerivedAnswer
  /** Derived pools that are over; their rows rest for a while. */
  | { readonly type: 'forget-derived'; readonly pools: readonly SectionHash[] }
  /** Answers `metrics-wanted`; null = there are none. */
  | { readonly type: 'metrics'; readonly id: number; readonly text: string | null }
  /** Answers `challenge-wanted`: the key authorization; null = nobody here asked for the token. */
  | { readonly type: 'challenge'; readonly id: number; readonly text: string | null }
  /** Answers `certificate-wanted`. What was had for a name came as `certificates` before; a challenge's is in here. */
  | { readonly type: 'certificate-answer'; readonly id: number; readonly certificate: CertificatePlan | null }
  /** Certificates that are new, and ids of those that are over. What is staged afterwards finds them. */
  | { readonly type: 'certificates'; readonly add: readonly CertificatePlan[]; readonly drop: readonly string[] }
  /** 48 bytes that session tickets are sealed with, the same in all workers. */
  | { readonly type: 'ticket-keys'; readonly keys: Uint8Array }
  /** Listening ends at this time of the wall clock (ms); until then all goes on. */
  | { readonly type: 'shutting-down'; readonly atMs: number }
  /** Finish what runs, take nothing new; the rest is reset after `graceMs`. Answered by `drained`. */
  | { readonly type: 'drain'; readonly graceMs: number }
  /** Reset every connection and end the thread now. */
  | { readonly type: 'die' };

/** Worker → control plane. */
export type WorkerMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'section-staged'; readonly hash: SectionHash }
  | { readonly type: 'staged'; readonly generation: number }
  | { readonly type: 'stage-failed'; readonly message: string }
  | { readonly type: 'committed'; readonly generation: number }
  /** The last exchange of an old generation ended here. */
  | { readonly type: 'generation-idle'; readonly generation: number }
  | { readonly type: 'server'; readonly key: string; readonly server: Server | null }
  /** An accepted socket that this thread can no longer serve, transferred. */
  | { readonly type: 'orphan'; readonly key: string; readonly socket: Socket }
  | { readonly type: 'socket-bound'; readonly id: string; readonly host: string; readonly port: number }
  | { readonly type: 'bind-failed'; readonly id: string; readonly code: string; readonly message: string }
  | { readonly type: 'socket-closed'; readonly id: string }
  /** Nobody listens at this address: a connection was refused, or a datagram (ICMP port unreachable). At most once a slot and second. */
  | { readonly type: 'refused'; readonly slot: number }
  /** A dial failed: the name of this address may have changed. */
  | { readonly type: 'dial-failed'; readonly slot: number }
  /** The passive checks of a member, named by its row: it failed, or passed the test after this strike (0 = none yet). */
  | {
      readonly type: 'passive';
      readonly pool: SectionHash;
      readonly row: number;
      readonly outcome: 'failed' | 'passed';
      readonly strike: number;
    }
  | { readonly type: 'log'; readonly level: LogLevel; readonly message: string; readonly fields: LogFields }
  /** Whole access lines, each with its newline. */
  | { readonly type: 'access'; readonly output: AccessSink; readonly lines: string }
  /**
   * A request names the upstreams of this pool: one of its kind at these addresses is needed, or with `id` 0 still
   * used. Answered by `derived`, but for 0.
   */
  | {
      readonly type: 'derive';
      readonly id: number;
      readonly pattern: SectionHash;
      readonly addresses: readonly string[];
    }
  /** A client asks for the metrics, which only the control plane has. Answered by `metrics`. */
  | { readonly type: 'metrics-wanted'; readonly id: number }
  /** An authority wants to see the answer to this HTTP-01 token. Answered by `challenge`. */
  | { readonly type: 'challenge-wanted'; readonly id: number; readonly token: string }
  /**
   * A client waits for a certificate of this name, which this worker has not; `challenge`: it is an authority that looks
   * for a TLS-ALPN-01 one. Answered by `certificate-answer`.
   */
  | { readonly type: 'certificate-wanted'; readonly id: number; readonly name: string; readonly challenge: boolean }
  | { readonly type: 'drained'; readonly reset: number }
  /** Sent as the last act of a worker that threw. */
  | { readonly type: 'crashed'; readonly message: string; readonly stack: string };

export interface DerivedAnswer {
  readonly type: 'derived';
  readonly id: number;
  readonly pattern: SectionHash;
  readonly addresses: readonly string[];
  readonly result: DerivedResult;
}

/** none: these are no addresses. busy: too many were asked for. */
export type DerivedResult =
  | { readonly outcome: 'pool'; readonly section: PoolSection; readonly rows: PoolRows }
  | { readonly outcome: 'none' | 'busy' };

/** Acceptor → worker, with the socket transferred. */
export interface AcceptedMessage {
  readonly key: string;
  readonly socket: Socket;
}

/** `workerData` of the acceptor thread. */
export interface AcceptorInit {
  readonly name: string;
  /** The chunks of the lane rows. */
  readonly chunks: readonly TableChunk[];
}

/** Control plane → acceptor. */
export type AcceptorControl =
  | { readonly type: 'listen'; readonly key: string; readonly server: Server }
  | { readonly type: 'give-back'; readonly key: string }
  /** A worker that takes sockets on `port`. */
  | { readonly type: 'join'; readonly lane: number; readonly port: MessagePort }
  /** Send this worker nothing more; answered by `left`. */
  | { readonly type: 'leave'; readonly lane: number }
  | { readonly type: 'die' };

/** Acceptor → control plane. */
export type AcceptorReply =
  | { readonly type: 'ready' }
  | { readonly type: 'server'; readonly key: string; readonly server: Server | null }
  | { readonly type: 'left'; readonly lane: number }
  | { readonly type: 'warning'; readonly message: string }
  | { readonly type: 'orphan'; readonly key: string; readonly socket: Socket }
  | { readonly type: 'crashed'; readonly message: string; readonly stack: string };
