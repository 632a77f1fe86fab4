/**
 * Preloaded into Holdfast (`node --import`): from outside, by the inspector, profiles its first worker
 * thread. SIGUSR2 starts, a second one stops and writes the profile to $HOLDFAST_PROFILE_OUT.
 */
import { writeFileSync } from 'node:fs';
import { Session, type NodeWorker, type Profiler } from 'node:inspector';
import { isMainThread } from 'node:worker_threads';

/** Microseconds between two looks at the stack. */
const SAMPLING_US = 200;

interface Reply {
  readonly id?: number;
  readonly result?: { readonly profile?: Profiler.Profile };
}

class WorkerProfiler {
  readonly #session = new Session();
  readonly #out: string;
  #worker = '';
  #lastId = 0;
  #running = false;

  constructor(out: string) {
    this.#out = out;
  }

  start(): void {
    this.#session.connect();
    this.#session.on('NodeWorker.attachedToWorker', ({ params }) => this.#attached(params));
    this.#session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => this.#received(params.message));
    this.#session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
    process.on('SIGUSR2', () => this.#toggle());
  }

  #attached(params: NodeWorker.AttachedToWorkerEventDataType): void {
    if (this.#worker === '') this.#worker = params.sessionId;
  }

  #toggle(): void {
    if (this.#running) {
      this.#send('Profiler.stop', {});
    } else {
      this.#send('Profiler.enable', {});
      this.#send('Profiler.setSamplingInterval', { interval: SAMPLING_US });
      this.#send('Profiler.start', {});
    }
    this.#running = !this.#running;
  }

  #send(method: string, params: object): void {
    this.#lastId += 1;
    const message = JSON.stringify({ id: this.#lastId, method, params });
    this.#session.post('NodeWorker.sendMessageToWorker', { sessionId: this.#worker, message });
  }

  #received(message: string): void {
    const profile = (JSON.parse(message) as Reply).result?.profile;
    if (profile !== undefined) writeFileSync(this.#out, JSON.stringify(profile));
  }
}

if (isMainThread) new WorkerProfiler(process.env['HOLDFAST_PROFILE_OUT'] ?? 'worker.cpuprofile').start();
