/** Tunnels that do not last for ever: `stream_timeout` and `stream_close_delay`. */
import type { CompiledStreams } from '../route/decision.ts';
import { Deadline, type Expirable, type TimerWheel } from '../wheel.ts';
import type { World } from '../world.ts';
import type { Tunnel } from './tunnel.ts';

/** Time both peers get to answer our goodbye before the tunnel is reset. */
const GOODBYE_MS = 5000;

/** No limit but a goodbye: of tunnels that a drain may end. */
export const NO_LIMITS: CompiledStreams = Object.freeze({ timeoutMs: 0, closeDelayMs: null, key: '' });

/** null = the handler does not limit its tunnels. `protocol`: the one that was agreed, lower case. */
export function limitTunnel(
  world: Pick<World, 'streams' | 'random'>,
  limits: CompiledStreams | null,
  tunnel: Tunnel,
  protocol: string,
): LimitedStream | null {
  if (limits === null) return null;
  tunnel.limit(protocol);
  return world.streams.begin(limits, { close: () => tunnel.close(world.random), abort: () => tunnel.abort() });
}

/** What a limited tunnel is told. */
export interface Limited {
  /** Says goodbye to both sides; nothing more is passed on. */
  close(): void;
  /** The goodbye was not answered. */
  abort(): void;
}

/** All limited tunnels of a worker. */
export class Streams {
  readonly #wheel: TimerWheel;
  readonly #running = new Set<LimitedStream>();

  constructor(wheel: TimerWheel) {
    this.#wheel = wheel;
  }

  /** A tunnel begins. The result is to be ended with it. */
  begin(limits: CompiledStreams, tunnel: Limited): LimitedStream {
    const stream = new LimitedStream(this.#wheel, limits, tunnel, () => this.#running.delete(stream));
    this.#running.add(stream);
    return stream;
  }

  /** A config came into force. `keysOf` yields the keys of its handlers; it is not called while there are no tunnels. */
  reloaded(keysOf: () => ReadonlySet<string>): void {
    if (this.#running.size === 0) return;
    const keys = keysOf();
    for (const stream of [...this.#running]) stream.reloaded(keys);
  }
}

export class LimitedStream implements Expirable {
  readonly #wheel: TimerWheel;
  readonly #limits: CompiledStreams;
  readonly #tunnel: Limited;
  readonly #onEnd: () => void;
  readonly #deadline: Deadline = new Deadline(this);
  readonly #timeoutAt: number;
  /** When the delay after the end of its handler is over; Infinity = the handler is in force. */
  #closeAt = Infinity;
  #closing = false;

  constructor(wheel: TimerWheel, limits: CompiledStreams, tunnel: Limited, onEnd: () => void) {
    this.#wheel = wheel;
    this.#limits = limits;
    this.#tunnel = tunnel;
    this.#onEnd = onEnd;
    this.#timeoutAt = limits.timeoutMs === 0 ? Infinity : wheel.now + limits.timeoutMs;
    this.#arm();
  }

  /** The delay counts from the first config without the handler; one that has it again takes the end back. */
  reloaded(keys: ReadonlySet<string>): void {
    const { key, closeDelayMs } = this.#limits;
    if (closeDelayMs === null || this.#closing) return;
    if (keys.has(key)) this.#closeAt = Infinity;
    else if (this.#closeAt === Infinity) this.#closeAt = this.#wheel.now + closeDelayMs;
    this.#arm();
  }

  onDeadline(): void {
    if (this.#closing) this.#tunnel.abort();
    else this.close();
  }

  /** Says goodbye now, if that was not done before. */
  close(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#wheel.arm(this.#deadline, GOODBYE_MS);
    this.#tunnel.close();
  }

  end(): void {
    this.#wheel.remove(this.#deadline);
    this.#onEnd();
  }

  #arm(): void {
    const at = Math.min(this.#timeoutAt, this.#closeAt);
    if (at === Infinity) this.#wheel.disarm(this.#deadline);
    else this.#wheel.arm(this.#deadline, Math.max(0, at - this.#wheel.now));
  }
}
