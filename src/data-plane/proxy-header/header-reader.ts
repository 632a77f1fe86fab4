/**
 * A connection of an HTTP server until its PROXY header is read, or it is known to have none. What follows is given
 * back to the socket.
 */
import type { Socket } from 'node:net';
import { mayBeProxyHeader, readProxyHeader, type ProxyEnds } from '../../shared/net/proxy-header-reader.ts';
import { resetSocket } from '../../shared/net/reset.ts';
import type { ProxyHeaderPolicy } from '../../shared/plan/proxy-header.ts';
import type { ClientConnection } from '../client-connection.ts';
import type { HttpServer } from '../server.ts';
import { Deadline, type Expirable, type TimerWheel } from '../wheel.ts';

export interface HeaderUser {
  readonly wheel: TimerWheel;
  /** It is somebody else's now, paused. Its addresses are those of the header that counts, if there was one. */
  onHeaderRead(reader: HeaderReader, socket: Socket): void;
  /** It was reset for what it sent, or did not send. */
  onBadHeader(reader: HeaderReader): void;
  connectionClosed(connection: ClientConnection): void;
}

export class HeaderReader implements ClientConnection, Expirable {
  readonly listenerKey: string;
  readonly #user: HeaderUser;
  readonly #socket: Socket;
  readonly #policy: ProxyHeaderPolicy;
  readonly #deadline = new Deadline(this);
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  readonly #onFin = (): void => void this.#socket.destroy();
  readonly #onClose = (): void => this.#end();
  #bytes: Buffer | null = null;
  #isLeaving = false;

  constructor(user: HeaderUser, socket: Socket, listenerKey: string, policy: ProxyHeaderPolicy, timeoutMs: number) {
    this.#user = user;
    this.#socket = socket;
    this.listenerKey = listenerKey;
    this.#policy = policy;
    socket.on('error', () => {});
    socket.on('data', this.#onData);
    socket.on('end', this.#onFin);
    socket.on('close', this.#onClose);
    user.wheel.arm(this.#deadline, timeoutMs);
  }

  mayStay(server: HttpServer | undefined): boolean {
    return server !== undefined;
  }

  retire(idleMs: number): void {
    this.#isLeaving = true;
    if (idleMs === 0) this.#socket.destroy();
    else this.#user.wheel.arm(this.#deadline, idleMs);
  }

  abort(): void {
    this.reset();
  }

  reset(): void {
    resetSocket(this.#socket);
  }

  /** Somebody who keeps a connection for later has not said anything yet. */
  onDeadline(): void {
    if (this.#bytes !== null || this.#policy === 'require') this.#refuse();
    else if (this.#isLeaving) this.#socket.destroy();
    else this.#pass(null);
  }

  #read(chunk: Buffer): void {
    const bytes = this.#bytes === null ? chunk : Buffer.concat([this.#bytes, chunk]);
    this.#bytes = bytes;
    if (!mayBeProxyHeader(bytes)) {
      if (this.#policy === 'require') this.#refuse();
      else this.#pass(bytes);
      return;
    }
    const header = readProxyHeader(bytes, 'stream');
    if (header === 'more') return;
    if (header === 'bad' || this.#policy === 'reject') return this.#refuse();
    if (header.ends !== null && this.#policy !== 'ignore') replaceEnds(this.#socket, header.ends);
    this.#pass(bytes.subarray(header.length));
  }

  #pass(rest: Buffer | null): void {
    this.#leave();
    if (rest !== null && rest.length > 0) this.#socket.unshift(rest);
    this.#user.onHeaderRead(this, this.#socket);
  }

  #refuse(): void {
    this.#socket.off('data', this.#onData);
    this.#user.onBadHeader(this);
    this.reset();
  }

  #leave(): void {
    this.#user.wheel.remove(this.#deadline);
    this.#socket.off('data', this.#onData);
    this.#socket.off('end', this.#onFin);
    this.#socket.off('close', this.#onClose);
    this.#socket.pause();
  }

  #end(): void {
    this.#user.wheel.remove(this.#deadline);
    this.#user.connectionClosed(this);
  }
}

/**
 * The socket itself tells of these ends from now on: whoever asks it later (limits, policies of TLS, requests) must not
 * take the proxy for the client, and need not know that there was a header.
 */
function replaceEnds(socket: Socket, { source, sourcePort, destination, destinationPort }: ProxyEnds): void {
  const values = {
    remoteAddress: source.text,
    remotePort: sourcePort,
    remoteFamily: `IPv${source.family}`,
    localAddress: destination.text,
    localPort: destinationPort,
    localFamily: `IPv${destination.family}`,
  };
  for (const [name, value] of Object.entries(values)) Object.defineProperty(socket, name, { value });
}
