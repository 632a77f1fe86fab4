import type { Socket } from 'node:net';

/**
 * Ends a connection with RST. Use it instead of `resetAndDestroy()`: while a FIN is on its way out,
 * that call fails in silence, the handle is never closed, and a thread that holds one cannot end
 * (Node 24.21: its cleanup spins for ever). In that state everything has been handed to the kernel
 * and the end announced, so closing is as good. A Unix socket knows no RST: it is closed.
 *
 * A TLS socket cannot be reset itself: `raw` is the socket under it.
 */
export function resetSocket(socket: Socket, raw: Socket = socket): void {
  if (socket.writableEnded && !socket.writableFinished) {
    socket.destroy();
    return;
  }
  try {
    raw.resetAndDestroy();
  } catch {
    // Thrown for a Unix socket, and there is no public way to tell one.
    socket.destroy();
  }
}
