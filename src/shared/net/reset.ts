import type { Socket } from 'node:net';

/**
 * Ends a connection with RST. Use it instead of `resetAndDestroy()`: while a FIN is on its way out,
 * that call fails in silence, the handle is never closed, and a thread that holds one cannot end
 * (Node 24.21: its cleanup spins for ever). In that state everything has been handed to the kernel
 * and the end announced, so closing is as good.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
