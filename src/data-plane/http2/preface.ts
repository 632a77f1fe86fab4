/**
 * A plain connection on a listener that speaks HTTP/1 and HTTP/2: its first bytes tell which (RFC 9113 section 3.4).
 * They are given back to the socket.
 */
import type { Socket } from 'node:net';
import { resetSocket } from '../../shared/net/reset.ts';
import type { ClientConnection } from '../client-connection.ts';
import { SocketFacts } from '../http1/socket-facts.ts';
import type { HttpServer } from '../server.ts';
import { Deadline, type Expirable, type TimerWheel } from '../wheel.ts';

const PREFACE: string = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export interface PrefaceUser {
  readonly wheel: TimerWheel;
  /** It is somebody else's now. */
  onPrefaceRead(reader: PrefaceReader, socket: Socket, isHttp2: boolean): void;
  connectionClosed(connection: ClientConnection): void;
}

export class PrefaceReader extends SocketFacts implements ClientConnection, Expirable {
  readonly listenerKey: string;
  readonly #user: PrefaceUser;
  readonly #server: HttpServer;
  readonly #deadline = new Deadline(this);
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  readonly #onFin = (): void => void this.socket.destroy();
  readonly #onClose = (): void => this.#end();
  #bytes: Buffer | null = null;

  constructor(user: PrefaceUser, server: HttpServer, socket: Socket, listenerKey: string) {
    super(socket, socket, null);
    this.#user = user;
    this.#server = server;
    this.listenerKey = listenerKey;
    socket.on('error', () => {});
    socket.on('data', this.#onData);
    socket.on('end', this.#onFin);
    socket.on('close', this.#onClose);
    user.wheel.arm(this.#deadline, server.options.idleTimeoutMs);
  }

  retire(idleMs: number): void {
    if (idleMs === 0) this.socket.destroy();
    else this.#user.wheel.arm(this.#deadline, idleMs);
  }

  abort(): void {
    this.reset();
  }

  reset(): void {
    resetSocket(this.socket);
  }

  onDeadline(): void {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#bytes === null ? chunk : Buffer.concat([this.#bytes, chunk]);
    const length = Math.min(bytes.length, PREFACE.length);
    const isHttp2 = bytes.toString('latin1', 0, length) === PREFACE.slice(0, length);
    if (isHttp2 && length < PREFACE.length) {
      if (this.#bytes === null) this.#user.wheel.arm(this.#deadline, this.#server.options.readHeaderTimeoutMs);
      this.#bytes = bytes;
      return;
    }
    this.#leave();
    this.socket.unshift(bytes);
    this.#user.onPrefaceRead(this, this.socket, isHttp2);
  }

  #leave(): void {
    this.#user.wheel.remove(this.#deadline);
    this.#bytes = null;
    this.socket.off('data', this.#onData);
    this.socket.off('end', this.#onFin);
    this.socket.off('close', this.#onClose);
    this.socket.pause();
  }

  #end(): void {
    this.#user.wheel.remove(this.#deadline);
    this.#user.connectionClosed(this);
  }
}
