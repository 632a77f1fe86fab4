/**
 * One side of a relayed TCP connection: what it reads goes to its sink, and the other side drives it through `RawSide`.
 * It arms no deadline of its own; its owner watches the silence.
 */
import type { Socket } from 'node:net';
import { dialOptions } from '../../shared/net/address.ts';
import { resetSocket } from '../../shared/net/reset.ts';
import type { EndpointPlan } from '../../shared/plan/types.ts';
import { UpstreamSocket } from '../http1/upstream-socket.ts';
import type { RawSide, TunnelEnd } from '../proxy/sides.ts';

/** The first keep-alive probe of a silent connection; how many follow is the system's business. */
export const KEEP_ALIVE_PROBE_MS = 15_000;

export interface LegOwner {
  onLegRead(leg: TcpLeg, bytes: number): void;
  /** It took bytes again after it was full. */
  onLegDrained(leg: TcpLeg): void;
  /** `broken`: reset by the peer, or an error. */
  onLegClosed(leg: TcpLeg, broken: boolean): void;
}

export abstract class TcpLeg implements RawSide {
  /** Who gets what is read. */
  sink: TunnelEnd;
  closed = false;
  protected readonly owner: LegOwner;
  /** What is read and written: the connection, or the TLS over it. */
  protected abstract readonly socket: Socket;
  #paused = false;
  /** TLS may break over a connection that closes well. */
  #failed = false;
  readonly #onEnd = (): void => this.sink.onTunnelFin();
  readonly #onDrain = (): void => {
    this.owner.onLegDrained(this);
    this.sink.onTunnelDrain();
  };
  readonly #onError = (error: NodeJS.ErrnoException): void => {
    this.#failed = true;
    this.onError(error);
    // After a fault of TLS (a broken record, an alert) Node goes on to 'end', as if all were said.
    this.socket.destroy();
  };
  readonly #onClose = (broken: boolean): void => {
    this.closed = true;
    this.onClosed(broken || this.#failed);
  };

  constructor(owner: LegOwner, sink: TunnelEnd) {
    this.owner = owner;
    this.sink = sink;
  }

  /** Not read because the other side takes nothing. */
  get paused(): boolean {
    return this.#paused;
  }

  protected watch(): void {
    const { socket } = this;
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
  }

  /** Somebody else watches it from the same turn on: without a listener for errors a socket would end the thread. */
  protected unwatch(): void {
    const { socket } = this;
    socket.off('end', this.#onEnd);
    socket.off('drain', this.#onDrain);
    socket.off('error', this.#onError);
    socket.off('close', this.#onClose);
  }

  protected onError(_error: NodeJS.ErrnoException): void {}

  protected onClosed(broken: boolean): void {
    this.owner.onLegClosed(this, broken);
  }

  /** Bytes of one read. */
  protected take(buffer: Buffer, size: number, owned: boolean): void {
    this.owner.onLegRead(this, size);
    if (!this.sink.onTunnelData(buffer, 0, size, owned)) this.pause();
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.socket.resume();
  }

  writeRaw(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    let bytes = buffer.subarray(start, end);
    if (!owned) {
      bytes = Buffer.allocUnsafe(end - start);
      buffer.copy(bytes, 0, start, end);
    }
    return this.socket.write(bytes);
  }

  finishRaw(): void {
    this.socket.end();
  }

  /** Ends it without a word to its sink. */
  close(): void {
    this.socket.destroy();
  }

  reset(): void {
    resetSocket(this.socket);
  }
}

/** The client's side: an accepted socket, or TLS over it. */
export class ClientLeg extends TcpLeg {
  protected socket: Socket;
  readonly #raw: Socket;
  readonly #onData = (chunk: Buffer): void => this.take(chunk, chunk.length, true);

  constructor(socket: Socket, owner: LegOwner, sink: TunnelEnd) {
    super(owner, sink);
    this.socket = socket;
    this.#raw = socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS);
    this.#read();
  }

  /** The connection as it came, for a handshake. This leg hears nothing of it until `carry`. */
  release(unread: Buffer): Socket {
    const { socket } = this;
    socket.pause();
    socket.off('data', this.#onData);
    this.unwatch();
    if (unread.length > 0) socket.unshift(unread);
    return socket;
  }

  /** Goes on over the TLS that the connection carries now. */
  carry(socket: Socket): void {
    this.socket = socket;
    this.#read();
  }

  override reset(): void {
    resetSocket(this.socket, this.#raw);
  }

  #read(): void {
    this.socket.allowHalfOpen = true;
    this.watch();
    this.socket.on('data', this.#onData);
  }
}

export interface UpstreamLegOwner extends LegOwner {
  onDialled(leg: UpstreamLeg): void;
  onDialFailed(leg: UpstreamLeg, code: string): void;
  /** It takes nothing more and may have something to say; to be closed soon. */
  onWriteFailed(leg: UpstreamLeg): void;
}

/** The server's side. */
export interface UpstreamLeg extends TcpLeg {
  readonly slot: number;
  /** It was reached; before that its end is a dial that failed. */
  readonly connected: boolean;
}

/** A server in the clear, read into a buffer that all such sides of a worker share. */
export class PlainUpstreamLeg extends TcpLeg implements UpstreamLeg {
  readonly slot: number;
  connected = false;
  protected readonly socket: Socket;
  readonly #owner: UpstreamLegOwner;
  #errorCode = '';
  /** It takes no bytes any more; what it said before is still read. */
  #writeFailed = false;

  constructor(
    endpoint: EndpointPlan,
    localAddress: string | undefined,
    readBuffer: Buffer,
    owner: UpstreamLegOwner,
    sink: TunnelEnd,
  ) {
    super(owner, sink);
    this.#owner = owner;
    this.slot = endpoint.slot;
    const options = {
      ...dialOptions(endpoint.host, endpoint.port),
      ...(localAddress === undefined ? {} : { localAddress }),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
      allowHalfOpen: true,
      autoSelectFamily: false,
      onread: {
        buffer: readBuffer,
        callback: (size: number, buffer: Uint8Array) => {
          this.take(buffer as Buffer, size, false);
          return !this.paused;
        },
      },
    };
    this.socket = new UpstreamSocket(options, (error) => this.#survivesWrite(error));
    this.watch();
    this.socket.on('connect', () => {
      this.connected = true;
      this.#owner.onDialled(this);
    });
    this.socket.connect(options);
  }

  override writeRaw(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    return this.#writeFailed || super.writeRaw(buffer, start, end, owned);
  }

  /**
   * A server that has heard enough says so and closes: the next write fails while its words are still in the kernel.
   * They are read before the connection counts as broken. Node does not tell when they end.
   */
  #survivesWrite(error: NodeJS.ErrnoException): boolean {
    if (!this.connected) return false;
    this.#errorCode = error.code ?? error.message;
    if (!this.#writeFailed) this.#owner.onWriteFailed(this);
    this.#writeFailed = true;
    return true;
  }

  protected override onError(error: NodeJS.ErrnoException): void {
    this.#errorCode = error.code ?? error.message;
  }

  protected override onClosed(broken: boolean): void {
    if (!this.connected) this.#owner.onDialFailed(this, this.#errorCode === '' ? 'ECONNABORTED' : this.#errorCode);
    super.onClosed(broken || this.#writeFailed);
  }

  override reset(): void {
    // A reset of a socket that is still connecting would wait for the connection.
    if (this.connected) super.reset();
    else this.close();
  }
}
