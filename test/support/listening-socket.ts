/** A listening socket for a process of its own, as a supervisor such as systemd opens it. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { TestContext } from 'node:test';

export interface ListeningSocket {
  readonly fd: number;
  readonly port: number;
  /** Closes it here; whoever inherited it goes on. Until then this process would accept on it, too. */
  release(): Promise<void>;
}

export async function openListeningSocket(t: TestContext): Promise<ListeningSocket> {
  const server = createServer((socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const release = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    await closed;
  };
  t.after(release);
  return { fd: descriptorOf(server), port: (server.address() as AddressInfo).port, release };
}

/** Node has no public way to a server's descriptor. */
export function descriptorOf(server: Server): number {
  return (server as unknown as { readonly _handle: { readonly fd: number } })._handle.fd;
}
