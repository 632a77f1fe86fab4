import { Socket, type SocketConstructorOpts } from 'node:net';

/**
 * A socket that outlives a failed write when its owner wants it to. A server that refuses an upload answers and closes:
 * the next write of the body fails, and Node would destroy the socket with the answer unread (RFC 9112 section 9.6).
 */
export class UpstreamSocket extends Socket {
  readonly #survives: (error: NodeJS.ErrnoException) => boolean;

  constructor(options: SocketConstructorOpts, survives: (error: NodeJS.ErrnoException) => boolean) {
    super(options);
    this.#survives = survives;
  }

  override destroy(error?: NodeJS.ErrnoException): this {
    return error?.syscall === 'write' && this.#survives(error) ? this : super.destroy(error);
  }
}
