import type { Server, Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { BindTarget, ControlMessage, WorkerMessage } from '../../shared/messages.ts';
import { transferable } from '../../shared/net/transfer.ts';
import type { MemberPlan, MemberRows, PlanManifest, PoolRows, Section, SectionHash } from '../../shared/plan/types.ts';
import type { ListenAddress } from '../listeners/bind.ts';
import { BindRefusal } from '../listeners/owned-listeners.ts';
import type { Thread } from './thread.ts';

/** A worker that does not answer for this long, though its loop turns, fails the reload. */
const ANSWER_TIMEOUT_MS = 30_000;

export type DataWorkerState = 'starting' | 'serving' | 'retiring';

/** One data-plane thread as the control plane speaks to it. */
export class DataWorker {
  readonly lane: number;
  /** Its place among the workers; a successor takes the same one. */
  readonly position: number;
  readonly thread: Thread<ControlMessage, WorkerMessage>;
  state: DataWorkerState = 'starting';
  /** The generation in force here, 0 = none. */
  generation = 0;
  /** What its last words said, '' while it lives. */
  crash = '';
  /** It stood still and is being ended. */
  hung = false;
  #buried = false;
  readonly #end = Promise.withResolvers<void>();
  #sections: ReadonlySet<SectionHash> = new Set();

  constructor(lane: number, position: number, thread: Thread<ControlMessage, WorkerMessage>) {
    this.lane = lane;
    this.position = position;
    this.thread = thread;
  }

  get name(): string {
    return this.thread.name;
  }

  /** May be given work: it has its plan and nothing is known to be wrong with it. */
  get serves(): boolean {
    return this.state === 'serving' && this.crash === '' && !this.hung && !this.#buried && this.thread.alive;
  }

  /** Resolves when the thread has ended (or has been given up) and nothing of it is left in the table. */
  get ended(): Promise<void> {
    return this.#end.promise;
  }

  /** Notes the end; false when it was noted before. */
  bury(): boolean {
    if (this.#buried) return false;
    this.#buried = true;
    return true;
  }

  /** Everything it held has been given back. */
  settleEnd(): void {
    this.#end.resolve();
  }

  /** Has the section of the generation in force, so that it need not be sent. */
  has(hash: SectionHash): boolean {
    return this.#sections.has(hash);
  }

  /** Rejects with the worker's own words when it cannot compile the section. */
  async stageSection(section: Section, rows: PoolRows | null): Promise<void> {
    const answered = this.#ask(`section ${section.hash}`, 'section-staged');
    this.thread.post({ type: 'section', section, rows });
    await answered;
  }

  /** The next members of a pool whose section is staged after them. */
  async stageMembers(pool: SectionHash, members: readonly MemberPlan[], rows: readonly MemberRows[]): Promise<void> {
    const answered = this.#ask(`members of pool ${pool}`, 'section-staged');
    this.thread.post({ type: 'members', pool, members, rows });
    await answered;
  }

  async stage(manifest: PlanManifest): Promise<void> {
    const answered = this.#ask(`generation ${manifest.generation}`, 'staged');
    this.thread.post({ type: 'stage', manifest });
    await answered;
  }

  /** The message is on its way when this returns: what is posted afterwards meets the new plan. Resolves when it is in force. */
  async commit(manifest: PlanManifest): Promise<void> {
    const answered = this.thread.answer('commit', ANSWER_TIMEOUT_MS, (message) => {
      return message.type === 'committed' && message.generation === manifest.generation;
    });
    this.thread.post({ type: 'commit', generation: manifest.generation });
    this.generation = manifest.generation;
    this.#sections = new Set(manifest.sections);
    await answered;
  }

  rollback(generation: number): void {
    this.thread.post({ type: 'rollback', generation });
  }

  takeServer(key: string, server: Server): void {
    this.thread.post({ type: 'listen', key, server }, [transferable(server)]);
  }

  takeSocket(key: string, socket: Socket): void {
    this.thread.post({ type: 'accepted', key, socket }, [transferable(socket)]);
  }

  takePort(port: MessagePort): void {
    this.thread.post({ type: 'acceptor', port }, [port]);
  }

  /** Asks for the listening server of `key`; it arrives as a `server` message like one nobody asked for. */
  async giveBack(key: string): Promise<void> {
    const answered = this.thread.answer(`giving ${key} back`, ANSWER_TIMEOUT_MS, (message) => {
      return message.type === 'server' && message.key === key;
    });
    this.thread.post({ type: 'give-back', key });
    await answered;
  }

  /** Rejects with `BindRefusal` when the address is not to be had. */
  async bindSocket(id: string, key: string, target: BindTarget): Promise<ListenAddress> {
    const answered = this.thread.answer(`binding ${key}`, ANSWER_TIMEOUT_MS, (message) => {
      return (message.type === 'socket-bound' || message.type === 'bind-failed') && message.id === id;
    });
    this.thread.post({ type: 'bind', id, key, target });
    const message = await answered;
    if (message.type === 'bind-failed') throw new BindRefusal(message.message, message.code);
    if (message.type !== 'socket-bound') throw new Error(`${this.name} answered ${message.type}`);
    return { host: message.host, port: message.port };
  }

  openSocket(id: string): void {
    this.thread.post({ type: 'open-socket', id });
  }

  async closeSocket(id: string): Promise<void> {
    const answered = this.thread.answer(`closing ${id}`, ANSWER_TIMEOUT_MS, (message) => {
      return message.type === 'socket-closed' && message.id === id;
    });
    this.thread.post({ type: 'close-socket', id });
    await answered;
  }

  /** Resolves with the number of connections that were reset, when the last one has ended. */
  async drain(graceMs: number): Promise<number> {
    const answered = this.thread.answer(
      'draining',
      graceMs + ANSWER_TIMEOUT_MS,
      (message) => message.type === 'drained',
    );
    this.thread.post({ type: 'drain', graceMs });
    const message = await answered;
    return message.type === 'drained' ? message.reset : 0;
  }

  async #ask(what: string, expected: WorkerMessage['type']): Promise<void> {
    const message = await this.thread.answer(
      what,
      ANSWER_TIMEOUT_MS,
      ({ type }) => type === expected || type === 'stage-failed',
    );
    if (message.type === 'stage-failed') throw new Error(`${this.name} refused the plan: ${message.message}`);
  }
}
