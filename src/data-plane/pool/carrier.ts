/** A connected socket that HTTP is spoken over: plain, or a TLS stream on top of it. */
import type { Socket } from 'node:net';
import { resetSocket } from '../../shared/net/reset.ts';

export interface Carrier {
  /** What is read and written. */
  readonly stream: Socket;
  /** What is reset: the same, or the socket below. */
  readonly raw: Socket;
  readonly secured: boolean;
}

/** Ends it with RST, which only the socket below can do. While the end of the TLS stream is on its way it is closed: see `resetSocket`. */
export function resetCarrier({ stream, raw }: Carrier): void {
  if (stream === raw) {
    resetSocket(raw);
    return;
  }
  if (!stream.writableEnded || stream.writableFinished) resetSocket(raw);
  stream.destroy();
}
