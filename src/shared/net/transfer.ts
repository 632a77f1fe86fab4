import type { Server, Socket } from 'node:net';
import type { Transferable } from 'node:worker_threads';

/**
 * A TCP server or socket as an entry of a transfer list. Node moves the handle of either between
 * threads; its type declarations do not say so yet.
 */
export function transferable(handle: Server | Socket): Transferable {
  return handle as unknown as Transferable;
}
