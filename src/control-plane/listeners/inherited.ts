/** Listening sockets that the process was started with (socket activation): `fd/<number>`. */
import { fstatSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Server } from 'node:net';
import { codeOf, listenError, type ListenError } from './bind.ts';
import { listenOnDescriptor } from './bound-socket.ts';

/** Linux: the TCP sockets of this network namespace. Listening ones stand first, so little is read. */
const SOCKET_TABLES: readonly string[] = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/** State of a listening socket in those tables. */
const LISTENING = '0A';

export interface InheritedSocket {
  readonly fd: number;
  /** Where it was written, for messages. */
  readonly place: string;
}

/**
 * The port of an inherited listening socket. null where the system does not tell: no /proc, or a socket
 * of another network namespace. Throws `ListenError` for what is certainly no listening TCP socket.
 */
export async function inheritedPort(socket: InheritedSocket): Promise<number | null> {
  const stat = statOf(socket);
  if (!stat.isSocket()) throw notListening(socket, 'ENOTSOCK');
  const entry = await findInTables(stat.ino);
  if (entry !== null && entry.state !== LISTENING) throw notListening(socket);
  return entry?.port ?? null;
}

/** Adopts the socket; the descriptor is the server's from then on. Rejects with `ListenError`. */
export async function listenOnInherited(socket: InheritedSocket): Promise<Server> {
  let server: Server;
  try {
    server = await listenOnDescriptor(socket.fd);
  } catch (error) {
    throw notListening(socket, codeOf(error), error);
  }
  // The address of a Unix socket is a path. It would accept, but cannot move between threads.
  if (typeof server.address() !== 'string') return server;
  server.close();
  throw notListening(socket);
}

/** A descriptor that is closed is not opened again: its number may belong to anything by then. */
export function closedError({ fd, place }: InheritedSocket): ListenError {
  const reason =
    'the socket is closed, by a config without it or with the thread that accepted on it (start the process anew)';
  return listenError(`fd/${fd}`, reason, 'EBADF', place);
}

/** Two handles on one descriptor abort the process when the first one closes. */
export function ownSocketError({ fd, place }: InheritedSocket, port: number): ListenError {
  const reason = `it is a socket this process itself has opened for port ${port} (inherited ones begin at fd/3)`;
  return listenError(`fd/${fd}`, reason, 'EBADF', place);
}

function notListening({ fd, place }: InheritedSocket, code = 'EINVAL', cause?: unknown): ListenError {
  const reason =
    'the descriptor is no listening TCP socket (whatever starts the process must pass one, the first is fd/3; ' +
    'for systemd: a .socket unit with a port in ListenStream= and with Accept=no)';
  return listenError(`fd/${fd}`, reason, code, place, cause);
}

function statOf(socket: InheritedSocket): Stats {
  try {
    return fstatSync(socket.fd);
  } catch (error) {
    throw notListening(socket, codeOf(error), error);
  }
}

interface TableEntry {
  readonly port: number;
  readonly state: string;
}

async function findInTables(inode: number): Promise<TableEntry | null> {
  for (const table of SOCKET_TABLES) {
    const entry = await findInTable(table, inode);
    if (entry !== null) return entry;
  }
  return null;
}

/** Columns: number, local address, remote address, state, queues, timer, retransmits, uid, timeout, inode. */
async function findInTable(table: string, inode: number): Promise<TableEntry | null> {
  const file = await open(table).catch(() => null);
  if (file === null) return null;
  for await (const line of file.readLines()) {
    const columns = line.trim().split(/\s+/);
    if (Number(columns[9]) !== inode) continue;
    const port = columns[1]?.split(':')[1] ?? '';
    return { port: Number.parseInt(port, 16), state: columns[3] ?? '' };
  }
  return null;
}
