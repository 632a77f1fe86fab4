/**
 * A worker whose runtime answers lines instead of HTTP: everything around the runtime is the real
 * thing. `who` → `<lane> <generation>`; `throw` and `hang` do what they say, without an answer.
 * A section called `refused` does not compile, `deadly` ends the thread, `deadly-once` only the first one.
 */
import type { Socket as UdpSocket } from 'node:dgram';
import type { Socket } from 'node:net';
import { FACT_IN_FLIGHT, FACT_REQUESTS, LANE_CONNECTIONS } from '../../src/shared/state-table/layout.ts';
import { resetSocket } from '../../src/shared/net/reset.ts';
import { runWorker, type RuntimeDeps, type WorkerRuntime } from '../../src/data-plane/worker-thread.ts';

const SLOT = 0;

class StandIn implements WorkerRuntime {
  readonly #deps: RuntimeDeps;
  readonly #sockets = new Set<Socket>();
  readonly #datagrams = new Map<string, UdpSocket>();
  readonly #staged = new Set<string>();
  #generation = 0;
  #drained: ((reset: number) => void) | null = null;

  constructor(deps: RuntimeDeps) {
    this.#deps = deps;
  }

  stageMembers(): void {}

  stageSection(section: { readonly hash: string }): void {
    if (section.hash.startsWith('refused')) throw new Error(`cannot compile ${section.hash}`);
    if (section.hash === 'deadly' || (section.hash === 'deadly-once' && this.#runsOnLaneOne())) process.exit(1);
    this.#staged.add(section.hash);
  }

  stage(manifest: { readonly sections: readonly string[] }): void {
    const missing = manifest.sections.find((hash) => !this.#staged.has(hash));
    if (missing !== undefined) throw new Error(`section ${missing} was not staged`);
  }

  commit(generation: number): void {
    const old = this.#generation;
    this.#generation = generation;
    if (old !== 0) this.#deps.post({ type: 'generation-idle', generation: old });
  }

  rollback(): void {}

  updateEndpoints(): void {}
  recastPool(): void {}
  shuttingDown(): void {}

  accept(_key: string, socket: Socket): void {
    const { table, lane } = this.#deps;
    this.#sockets.add(socket);
    table.lanes.add(lane, LANE_CONNECTIONS, 1);
    table.facts(lane).add(SLOT, FACT_IN_FLIGHT, 1);
    table.facts(lane).count(SLOT, FACT_REQUESTS, 1);
    socket.on('error', () => {});
    socket.on('data', (chunk) => this.#answer(socket, String(chunk).trim()));
    socket.on('end', () => socket.end());
    socket.on('close', () => this.#closed(socket));
  }

  /** Every datagram is answered as a line would be. */
  listenUdp(key: string, socket: UdpSocket): void {
    this.#datagrams.set(key, socket);
    socket.on('message', (data, from) => {
      socket.send(this.#wordAnswered(String(data)), from.port, from.address);
    });
  }

  unlistenUdp(key: string): void {
    this.#datagrams.get(key)?.close();
    this.#datagrams.delete(key);
  }

  forgetSlots(): void {}

  cutSlots(): void {}
  cutPool(): void {}

  derived(): void {}

  forgetDerived(): void {}

  challengeAnswered(): void {}

  certificateAnswered(): void {}

  metricsAnswered(): void {}

  updateCertificates(): void {}
  setTicketKeys(): void {}
  drain(graceMs: number): Promise<number> {
    return new Promise((resolve) => {
      this.#drained = resolve;
      setTimeout(() => {
        const reset = this.#sockets.size;
        this.resetAll();
        resolve(reset);
      }, graceMs);
      this.#finishDrain();
    });
  }

  resetAll(): void {
    for (const socket of this.#sockets) resetSocket(socket);
  }

  #runsOnLaneOne(): boolean {
    return this.#deps.lane === 1 && this.#generation !== 0;
  }

  #answer(socket: Socket, word: string): void {
    socket.write(this.#wordAnswered(word));
  }

  #wordAnswered(word: string): string {
    if (word === 'throw') throw new Error('thrown on request');
    // A thread that hangs is the point of this word.
    if (word === 'hang') for (;;);
    return `${this.#deps.lane} ${this.#generation}\n`;
  }

  #closed(socket: Socket): void {
    this.#sockets.delete(socket);
    this.#deps.table.lanes.add(this.#deps.lane, LANE_CONNECTIONS, -1);
    this.#deps.table.facts(this.#deps.lane).add(SLOT, FACT_IN_FLIGHT, -1);
    this.#finishDrain();
  }

  #finishDrain(): void {
    if (this.#sockets.size === 0) this.#drained?.(0);
  }
}

runWorker((deps) => new StandIn(deps));
