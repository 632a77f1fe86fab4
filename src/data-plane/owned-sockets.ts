/**
 * Sockets that cannot move between threads: UDP sockets, and listening Unix sockets. This thread binds them when
 * it is asked to, so that an address that is taken is known before anything changes, and uses them once the plan is
 * in force.
 */
import type { Socket as UdpSocket } from 'node:dgram';
import { createServer, type Server, type Socket } from 'node:net';
import type { BindTarget } from '../shared/messages.ts';
import { resetSocket } from '../shared/net/reset.ts';
import { listenUnix } from '../shared/net/unix-listener.ts';
import { bindDatagrams } from './layer4/udp/sockets.ts';

/** Connections to a Unix socket that are kept while its plan is not in force; more are closed. */
const MAX_EARLY = 256;

export interface OwnedSocketUser {
  accept(key: string, socket: Socket): void;
  /** Begins to read; the socket belongs to the user until `unlistenUdp`, which closes it. */
  listenUdp(key: string, socket: UdpSocket): void;
  unlistenUdp(key: string): void;
}

export interface SocketAddress {
  /** An IP address, or `unix/<path>`. */
  readonly host: string;
  readonly port: number;
}

/** `open` is set once the plan is in force. */
type Owned =
  | { readonly key: string; readonly udp: UdpSocket; open: boolean }
  | { readonly key: string; readonly unix: Server; readonly early: Socket[]; open: boolean };

export class OwnedSockets {
  readonly #user: OwnedSocketUser;
  readonly #onAcceptError: (key: string, error: Error) => void;
  readonly #sockets = new Map<string, Owned>();

  constructor(user: OwnedSocketUser, onAcceptError: (key: string, error: Error) => void) {
    this.#user = user;
    this.#onAcceptError = onAcceptError;
  }

  /** Rejects with what bind(2) says. `id` names the socket here, `key` the listener in plans. */
  async bind(id: string, key: string, target: BindTarget): Promise<SocketAddress> {
    return target.network === 'udp' ? this.#bindUdp(id, key, target) : this.#bindUnix(id, key, target);
  }

  open(id: string): void {
    const owned = this.#sockets.get(id);
    if (owned === undefined || owned.open) return;
    owned.open = true;
    if ('udp' in owned) {
      this.#user.listenUdp(owned.key, owned.udp);
      return;
    }
    for (const socket of owned.early.splice(0)) this.#user.accept(owned.key, socket);
  }

  /** Gives the address back. Connections that were accepted go on; those nobody has looked at are reset. */
  close(id: string): void {
    const owned = this.#sockets.get(id);
    if (owned === undefined) return;
    this.#sockets.delete(id);
    if ('udp' in owned) {
      if (owned.open) this.#user.unlistenUdp(owned.key);
      else owned.udp.close();
      return;
    }
    for (const socket of owned.early.splice(0)) resetSocket(socket);
    owned.unix.close();
  }

  #bindUdp(id: string, key: string, target: Extract<BindTarget, { network: 'udp' }>): SocketAddress {
    const { host, port, reusePort, alone } = target;
    // With SO_REUSEPORT a second balancer of the same user would silently share the address.
    if (alone && reusePort && port !== 0) bindDatagrams({ host, port, reusePort: false }).close();
    const udp = bindDatagrams({ host, port, reusePort });
    udp.on('error', () => {});
    this.#sockets.set(id, { key, udp, open: false });
    const address = udp.address();
    return { host: address.address, port: address.port };
  }

  async #bindUnix(id: string, key: string, target: Extract<BindTarget, { network: 'unix' }>): Promise<SocketAddress> {
    const unix = createServer({ allowHalfOpen: true });
    const owned: Owned = { key, unix, early: [], open: false };
    unix.on('connection', (socket) => {
      if (owned.open) return this.#user.accept(key, socket);
      socket.on('error', () => {});
      if (owned.early.length < MAX_EARLY) owned.early.push(socket);
      else resetSocket(socket);
    });
    await listenUnix(unix, target);
    unix.on('error', (error) => this.#onAcceptError(key, error));
    this.#sockets.set(id, owned);
    return { host: `unix/${target.path}`, port: 0 };
  }
}
