/**
 * `net.BoundSocket` (Node 24.21): a socket that is bound and not listening. The type declarations of
 * Node do not have it yet.
 */
import * as net from 'node:net';

export interface BoundSocket {
  address(): { readonly address: string; readonly family: string; readonly port: number };
  /** Gives the address back. Not after a server has adopted the socket. */
  close(): void;
}

export interface BindOptions {
  /** An IP address: nothing is resolved here. */
  readonly host: string;
  readonly port: number;
  readonly reusePort: boolean;
}

interface NetWithBoundSocket {
  readonly BoundSocket: new (options: BindOptions) => BoundSocket;
}

/** Binds at once. Throws what bind(2) says: EADDRINUSE, EACCES, EADDRNOTAVAIL, … */
export function bindSocket(options: BindOptions): BoundSocket {
  const { BoundSocket } = net as unknown as NetWithBoundSocket;
  return new BoundSocket(options);
}

/** Connections the kernel keeps for a listener that is busy; it cuts the number to `somaxconn`. */
const BACKLOG = 4096;

/**
 * Makes a bound socket listen. Resolves before the event loop polls again, so nothing is accepted
 * between the call and its continuation. Rejects with what listen(2) says.
 */
export function listenOn(bound: BoundSocket): Promise<net.Server> {
  // A BoundSocket is a listen target that the declarations do not know.
  return listen((server) => server.listen(bound as unknown as net.ListenOptions, BACKLOG));
}

/** As `listenOn`, on a socket that listens already. The descriptor belongs to the server from then on. */
export function listenOnDescriptor(fd: number): Promise<net.Server> {
  return listen((server) => server.listen({ fd, backlog: BACKLOG }));
}

function listen(start: (server: net.Server) => void): Promise<net.Server> {
  const server = net.createServer({ noDelay: true, allowHalfOpen: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.removeListener('error', reject);
      resolve(server);
    });
    start(server);
  });
}
