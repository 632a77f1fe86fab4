/**
 * A connection from its first byte to the end of its handshake. The ClientHello is read here and given back to the
 * socket: it decides policy and certificate before OpenSSL sees it, and tells what is no TLS at all.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { resetSocket } from '../../shared/net/reset.ts';
import { MORE, NO } from '../layer4/answer.ts';
import { readClientHello, type ClientHello } from '../layer4/match/client-hello.ts';
import { Deadline, type Expirable, type TimerWheel } from '../wheel.ts';

/** A ClientHello with every extension there is takes a few thousand bytes. */
const MAX_HELLO_BYTES = 65_536;
/** A client that got an answer in the clear is expected to close. */
const FAREWELL_MS = 1000;
/** As Caddy answers a request in the clear. */
const PLAIN_ANSWER =
  'HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';
const PLAIN_REQUEST = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|CONNECT|TRACE) /;
/** A fatal alert in a record of TLS 1.0, which every version reads (RFC 8446 section 5.1); the last byte says what. */
const ALERT: readonly number[] = Object.freeze([21, 3, 1, 0, 2, 2]);
const ALERT_DECODE_ERROR = 50;
export const ALERT_INTERNAL_ERROR = 80;
export const ALERT_UNRECOGNIZED_NAME = 112;
/** No alert: what to do is not known yet. */
export const WAITS = -1;

export interface HandshakeUser {
  readonly wheel: TimerWheel;
  /** Passes the socket on to OpenSSL; a number is the alert to refuse it with, or WAITS: `goOn` is called later. */
  choose(handshake: Handshake, hello: ClientHello): number;
  /** Without a TLS connection. Called once, instead of `taken`. */
  onFailed(handshake: Handshake): void;
}

export class Handshake implements Expirable {
  readonly listenerKey: string;
  readonly raw: Socket;
  serverName = '';
  readonly #user: HandshakeUser;
  readonly #deadline: Deadline;
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  readonly #onClose = (): void => this.#end();
  readonly #onFin = (): void => void this.raw.destroy();
  #bytes: Buffer | null = null;
  #ended = false;

  constructor(user: HandshakeUser, raw: Socket, listenerKey: string, timeoutMs: number) {
    this.#user = user;
    this.raw = raw;
    this.listenerKey = listenerKey;
    this.#deadline = new Deadline(this);
    raw.setNoDelay(true);
    raw.on('error', () => {});
    raw.on('close', this.#onClose);
    raw.on('end', this.#onFin);
    raw.on('data', this.#onData);
    // Taken over by the TLS socket: half of a handshake is worth nothing.
    raw.allowHalfOpen = false;
    user.wheel.arm(this.#deadline, timeoutMs);
  }

  /** The handshake is done and somebody else has the connection. False when it has failed before. */
  take(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#user.wheel.remove(this.#deadline);
    this.raw.off('close', this.#onClose);
    return true;
  }

  /** After WAITS: whoever was asked has `waitMs`; a client that goes away meanwhile is not seen. */
  waitFor(waitMs: number): void {
    this.#user.wheel.arm(this.#deadline, waitMs);
  }

  /** The end of a wait, with a fresh deadline for the rest. `alert` as from `choose`. */
  goOn(alert: number, timeoutMs: number): void {
    if (this.#ended) return;
    this.#user.wheel.arm(this.#deadline, timeoutMs);
    this.#answer(alert);
  }

  /** It has shown what it was for, and is to close. */
  farewell(): void {
    this.#user.wheel.arm(this.#deadline, FAREWELL_MS);
  }

  reset(): void {
    resetSocket(this.raw);
    this.#end();
  }

  onDeadline(): void {
    this.reset();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#bytes === null ? chunk : Buffer.concat([this.#bytes, chunk]);
    this.#bytes = bytes;
    const hello = readClientHello(bytes);
    if (hello === MORE && bytes.length <= MAX_HELLO_BYTES) return;
    this.raw.off('data', this.#onData);
    this.raw.off('end', this.#onFin);
    if (hello === MORE || hello === NO) this.#refuseBytes(bytes);
    else this.#begin(hello, bytes);
  }

  #begin(hello: ClientHello, bytes: Buffer): void {
    this.serverName = hello.serverName;
    this.#bytes = null;
    this.raw.pause();
    this.raw.unshift(bytes);
    const alert = this.#user.choose(this, hello);
    if (alert !== WAITS) this.#answer(alert);
  }

  #answer(alert: number): void {
    if (alert !== 0) this.#farewell(Buffer.from([...ALERT, alert]));
  }

  #refuseBytes(bytes: Buffer): void {
    const isRequest = PLAIN_REQUEST.test(bytes.toString('latin1', 0, 16));
    this.#farewell(isRequest ? Buffer.from(PLAIN_ANSWER) : Buffer.from([...ALERT, ALERT_DECODE_ERROR]));
  }

  /** Read and dropped meanwhile: unread bytes would turn the close into a reset that eats the answer. */
  #farewell(answer: Buffer): void {
    this.raw.resume();
    this.raw.end(answer);
    this.#user.wheel.arm(this.#deadline, FAREWELL_MS);
  }

  #end(): void {
    if (!this.take()) return;
    this.#user.onFailed(this);
  }
}

/** The accepted socket under a TLS socket that a non-listening server made. */
export function rawSocketOf(socket: TLSSocket): unknown {
  // Node hands the TLS socket out only when its handshake is over, and keeps the other in this field since its first
  // versions. Addresses would tell them apart too, but not for Unix sockets.
  return Reflect.get(socket, '_parent');
}
