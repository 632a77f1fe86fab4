import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { CliError } from '../failure.ts';

/** How long a killed backend stays away. */
export const RESTART_DELAY_MS = 15_000;

export interface BackendEvents {
  readonly up: (backend: number, pid: number) => void;
  readonly down: (backend: number) => void;
}

interface Backend {
  readonly number: number;
  readonly port: number;
  child: ChildProcess | null;
  restart: NodeJS.Timeout | null;
}

/** The backends of the demo: child processes that come back some time after they were killed. */
export class DemoBackends {
  readonly #backends: readonly Backend[];
  readonly #events: BackendEvents;
  #ended = false;

  /** `ports`: one a backend; backends are numbered from 1. */
  constructor(ports: readonly number[], events: BackendEvents) {
    this.#backends = ports.map((port, at) => ({ number: at + 1, port, child: null, restart: null }));
    this.#events = events;
  }

  /** Resolves when all of them listen; rejects when one cannot. */
  async start(): Promise<void> {
    await Promise.all(this.#backends.map((backend) => this.#open(backend)));
  }

  /** Kills a running backend, starts a dead one. */
  toggle(number: number): void {
    const backend = this.#backends.find((candidate) => candidate.number === number);
    if (backend === undefined) return;
    if (backend.child !== null) backend.child.kill('SIGKILL');
    else this.#openAgain(backend);
  }

  stop(): void {
    this.#ended = true;
    for (const { child, restart } of this.#backends) {
      if (restart !== null) clearTimeout(restart);
      child?.kill('SIGKILL');
    }
  }

  async #open(backend: Backend): Promise<void> {
    const child = fork(backendEntry(), [String(backend.number), String(backend.port)], {
      execArgv: [],
      // What a backend that cannot start prints is told by the error below.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    backend.child = child;
    child.once('exit', () => this.#exited(backend, child));
    await Promise.race([once(child, 'message'), failedStart(child, backend.port)]);
    this.#events.up(backend.number, child.pid ?? 0);
  }

  #exited(backend: Backend, child: ChildProcess): void {
    if (backend.child !== child) return;
    backend.child = null;
    if (this.#ended) return;
    this.#events.down(backend.number);
    backend.restart = setTimeout(() => this.#openAgain(backend), RESTART_DELAY_MS);
  }

  #openAgain(backend: Backend): void {
    if (backend.restart !== null) clearTimeout(backend.restart);
    backend.restart = null;
    // A failed start ends in `exit`, which tries again later.
    this.#open(backend).catch(() => {});
  }
}

async function failedStart(child: ChildProcess, port: number): Promise<never> {
  await once(child, 'exit');
  throw new CliError(`a demo backend could not listen on 127.0.0.1:${port}: is another program using that port?`);
}

/** `.ts` in a checkout, `.js` in the package. */
function backendEntry(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./backend.${extension}`, import.meta.url));
}
