/** Datagram sockets that are ready when the call returns: addresses are literal, so nothing has to be looked up. */
import { createSocket, type Socket, type SocketType } from 'node:dgram';

/**
 * Node asks DNS even for literal addresses and comes back in a later turn of the event loop. With this it binds,
 * connects and sends in the very call.
 */
function literalLookup(address: string, _family: unknown, callback: LookupCallback): void {
  callback(null, address, address.includes(':') ? 6 : 4);
}

type LookupCallback = (error: Error | null, address: string, family: number) => void;

export interface UdpBinding {
  /** An IP address. */
  readonly host: string;
  readonly port: number;
  /** Others of this user may bind the address too, and share its datagrams. */
  readonly reusePort: boolean;
}

/** A socket on an address of ours; `error` listeners are the caller's from here on. Throws what bind(2) says. */
export function bindDatagrams({ host, port, reusePort }: UdpBinding): Socket {
  const socket = openSocket(host, { reusePort });
  const failure = failureOf(socket, () => socket.bind({ port, address: host, exclusive: true }));
  if (failure !== null) throw failure;
  return socket;
}

export interface UdpTarget {
  readonly host: string;
  readonly port: number;
  /** IP address to send from; undefined = what the system picks. */
  readonly localAddress: string | undefined;
  /** SO_RCVBUF asked for. */
  readonly receiveBufferBytes: number;
}

/**
 * A socket that talks with one peer: the kernel drops what others send, and tells when nobody listens there.
 * `error` listeners are the caller's from here on. Throws what the system says: EMFILE, ENETUNREACH, …
 */
export function connectDatagrams(target: UdpTarget): Socket {
  const socket = openSocket(target.host, { recvBufferSize: target.receiveBufferBytes });
  const failure = failureOf(socket, () => {
    if (target.localAddress !== undefined) socket.bind({ port: 0, address: target.localAddress, exclusive: true });
    socket.connect(target.port, target.host);
    // Throws when it is not connected: what connect(2) said comes too late to be waited for.
    socket.remoteAddress();
  });
  if (failure !== null) throw failure;
  return socket;
}

/** Asks for a receive buffer and returns what there is. Some systems give less, others refuse what is too much. */
export function resizeBuffer(socket: Socket, bytes: number): number {
  try {
    socket.setRecvBufferSize(bytes);
  } catch {
    // What it had stays.
  }
  // Linux keeps, and tells, twice what was asked for: the other half is its own book-keeping (socket(7)).
  return socket.getRecvBufferSize() / (process.platform === 'linux' ? 2 : 1);
}

function openSocket(host: string, options: { reusePort?: boolean; recvBufferSize?: number }): Socket {
  const type: SocketType = host.includes(':') ? 'udp6' : 'udp4';
  return createSocket({ type, lookup: literalLookup, ...options });
}

/** Runs what may fail by an event or by a throw; closes the socket when it does. */
function failureOf(socket: Socket, attempt: () => void): Error | null {
  let failure: Error | null = null;
  socket.once('error', (error) => (failure ??= error));
  try {
    attempt();
  } catch (error) {
    failure ??= error instanceof Error ? error : new Error(String(error));
  }
  if (failure === null) {
    socket.removeAllListeners('error');
    return null;
  }
  // What connect(2) said arrives in the next turn.
  socket.on('error', () => {});
  socket.close();
  return failure;
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
