/** Listening on a socket of the file system. */
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { lstat, unlink } from 'node:fs/promises';
import { connect, type Server } from 'node:net';

export interface UnixSocketPath {
  readonly path: string;
  /** File mode bits. */
  readonly mode: number;
}

/**
 * Binds `server`. A socket that a process left behind is removed; one that answers is in use (EADDRINUSE), and a file
 * of another kind is never touched (EEXIST).
 */
export async function listenUnix(server: Server, { path, mode }: UnixSocketPath): Promise<void> {
  await removeStale(path);
  const listening = once(server, 'listening');
  server.listen({ path });
  // Bound by now, or `listening` rejects: in between nobody may connect who has no right to.
  changeMode(path, mode);
  await listening;
}

/** A missing socket is told by whoever binds it. */
export function changeMode(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

async function removeStale(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  if (found === null) return;
  if (!found.isSocket()) throw withCode('EEXIST', `${path} is there already and is no socket`);
  if (await answers(path)) throw withCode('EADDRINUSE', `${path} is in use`);
  await unlink(path);
}

/** Only a refused connection proves that nobody listens; a full backlog or missing rights do not. */
async function answers(path: string): Promise<boolean> {
  const socket = connect({ path });
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    return codeOf(error) !== 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
