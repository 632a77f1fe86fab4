/** The longest time one turn of this thread's event loop takes, seen by a 1 ms ticker. */
export interface Gap {
  /** Wall clock between two ticks, milliseconds: what a probe or a client waits. */
  readonly wallMs: number;
  /** Processor time of this thread between two ticks, milliseconds: the part that is not the neighbours'. */
  readonly cpuMs: number;
}

export class GapWatch {
  readonly #timer: NodeJS.Timeout;
  #at: number = performance.now();
  #cpu: number = threadCpuMs();
  #wallMs = 0;
  #cpuMs = 0;

  constructor() {
    this.#timer = setInterval(() => this.#tick(), 1);
  }

  /** The longest gap since the last call. */
  take(): Gap {
    this.#tick();
    const gap = { wallMs: this.#wallMs, cpuMs: this.#cpuMs };
    this.#wallMs = 0;
    this.#cpuMs = 0;
    return gap;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    const cpu = threadCpuMs();
    this.#wallMs = Math.max(this.#wallMs, now - this.#at);
    this.#cpuMs = Math.max(this.#cpuMs, cpu - this.#cpu);
    this.#at = now;
    this.#cpu = cpu;
  }
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
