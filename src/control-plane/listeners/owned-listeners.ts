/**
 * Listening addresses whose sockets cannot move between threads: UDP sockets and Unix sockets. The worker that reads
 * from one binds it, too; the control plane decides which worker, and keeps to it over reloads.
 */
import type { BindTarget } from '../../shared/messages.ts';
import type { ListenerSpec } from '../compile/compiled.ts';
import { bindHosts, explain, isMissingFamily, listenError, type ListenAddress } from './bind.ts';

/** What bind(2) said in a worker. */
export class BindRefusal extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.name = 'BindRefusal';
    this.code = code;
  }
}

/** A worker, as far as such sockets are concerned. */
export interface SocketHolder {
  /** Rejects with `BindRefusal`, or with another error when the thread ends first. */
  bindSocket(id: string, key: string, target: BindTarget): Promise<ListenAddress>;
  /** Its plan is in force: read from it. */
  openSocket(id: string): void;
  closeSocket(id: string): Promise<void>;
}

export interface OwnedListenersDeps {
  /** Worker positions. */
  readonly positions: number;
  /** SO_REUSEPORT exists here: a successor binds before its predecessor lets go. */
  readonly reusePort: boolean;
  /** Who serves at a position; null while nobody does. */
  holderAt(position: number): SocketHolder | null;
}

interface OwnedSeat {
  readonly position: number;
  /** null while nobody has it: it is bound by whoever serves at the position next. */
  holder: SocketHolder | null;
}

interface OwnedListener {
  readonly spec: ListenerSpec;
  /** Port 0 resolved with the first socket. */
  address: ListenAddress | null;
  readonly seats: readonly OwnedSeat[];
}

/** What `stage` prepared; ends with `commit` or `rollback`. */
export interface OwnedChange {
  readonly added: readonly OwnedListener[];
  readonly removed: readonly OwnedListener[];
}

/** Whether the socket of a listener stays in the thread that binds it. */
export function isOwned({ network }: ListenerSpec): boolean {
  return network === 'udp' || network === 'unix';
}

/** Names a socket over reloads and in workers: another kind of ownership is another socket on the same address. */
function identity({ key, owners }: ListenerSpec): string {
  return `${key} ${owners ?? 'one'}`;
}

export class OwnedListeners {
  readonly #deps: OwnedListenersDeps;
  #listeners: ReadonlyMap<string, OwnedListener> = new Map();

  constructor(deps: OwnedListenersDeps) {
    this.#deps = deps;
  }

  addresses(): ReadonlyMap<string, ListenAddress> {
    const all = [...this.#listeners.values()];
    return new Map(all.flatMap(({ spec, address }) => (address === null ? [] : [[spec.key, address] as const])));
  }

  /** Has new addresses bound. Rejects with `ListenError`, and leaves nothing bound, when one fails. */
  async stage(specs: readonly ListenerSpec[]): Promise<OwnedChange> {
    const wanted = new Set(specs.map(identity));
    const removed = [...this.#listeners.values()].filter(({ spec }) => !wanted.has(identity(spec)));
    const added: OwnedListener[] = [];
    try {
      for (const spec of specs) {
        if (this.#listeners.has(identity(spec))) continue;
        const listener = this.#place(spec, added);
        added.push(listener);
        await this.#bindVacant(listener, () => {});
      }
    } catch (error) {
      await closeAll(added);
      throw error;
    }
    return { added, removed };
  }

  /** The plan is on its way to the workers: the new sockets follow it, the removed ones close. */
  commit({ added, removed }: OwnedChange): void {
    const next = new Map(this.#listeners);
    for (const listener of removed) {
      next.delete(identity(listener.spec));
      void closeAll([listener]);
    }
    for (const listener of added) {
      next.set(identity(listener.spec), listener);
      for (const { holder } of listener.seats) holder?.openSocket(identity(listener.spec));
    }
    this.#listeners = next;
  }

  async rollback({ added }: OwnedChange): Promise<void> {
    await closeAll(added);
  }

  /** Binds what nobody has at positions where somebody serves. Rejects with the last `ListenError` when some fail. */
  async settle(): Promise<void> {
    let failure: unknown = null;
    for (const listener of this.#listeners.values()) {
      try {
        await this.#bindVacant(listener, (holder) => holder.openSocket(identity(listener.spec)));
      } catch (error) {
        failure = error;
      }
    }
    if (failure !== null) throw failure;
  }

  /** A thread is gone, and its sockets with it. */
  gone(holder: SocketHolder): void {
    for (const { seats } of this.#listeners.values()) {
      for (const seat of seats) if (seat.holder === holder) seat.holder = null;
    }
  }

  /** Whoever serves now where `holder` did takes its sockets over. Sessions of the old ones end. */
  async handOver(holder: SocketHolder): Promise<void> {
    for (const listener of this.#listeners.values()) {
      for (const seat of listener.seats) if (seat.holder === holder) await this.#replace(listener, seat, holder);
    }
  }

  /** Unix sockets take nobody any more; UDP sockets belong to their running sessions until the worker ends. */
  async close(): Promise<void> {
    const listeners = [...this.#listeners.values()];
    this.#listeners = new Map();
    await closeAll(listeners.filter(({ spec }) => spec.network === 'unix'));
  }

  /** One seat where the fewest are, or one at every position. */
  #place(spec: ListenerSpec, added: readonly OwnedListener[]): OwnedListener {
    const { positions } = this.#deps;
    const all = Array.from({ length: positions }, (_, position) => position);
    const taken = [...this.#listeners.values(), ...added].flatMap(({ seats }) => seats.map((seat) => seat.position));
    const load = (position: number): number => taken.filter((other) => other === position).length;
    const open = all.filter((position) => this.#deps.holderAt(position) !== null);
    const [fewest = 0] = (open.length > 0 ? open : all).toSorted((a, b) => load(a) - load(b));
    const chosen = spec.owners === 'all' ? all : [fewest];
    return { spec, address: null, seats: chosen.map((position) => ({ position, holder: null })) };
  }

  /** A thread that ends meanwhile leaves its seat to its successor. */
  async #bindVacant(listener: OwnedListener, onBound: (holder: SocketHolder) => void): Promise<void> {
    for (const seat of listener.seats) {
      const holder = seat.holder === null ? this.#deps.holderAt(seat.position) : null;
      if (holder === null) continue;
      if (await this.#bind(listener, seat, holder)) onBound(holder);
    }
  }

  async #bind(listener: OwnedListener, seat: OwnedSeat, holder: SocketHolder): Promise<boolean> {
    const { spec } = listener;
    let failure: unknown;
    for (const target of await this.#targetsOf(listener)) {
      try {
        listener.address = await holder.bindSocket(identity(spec), spec.key, target);
        seat.holder = holder;
        return true;
      } catch (error) {
        if (!(error instanceof BindRefusal)) return false;
        failure = error;
        if (!isMissingFamily(error)) break;
      }
    }
    throw refusal(spec, failure);
  }

  /** What to try, in order. */
  async #targetsOf({ spec, address, seats }: OwnedListener): Promise<readonly BindTarget[]> {
    if (spec.unix !== undefined) return [{ network: 'unix', ...spec.unix }];
    const { reusePort } = this.#deps;
    const port = address?.port ?? spec.port;
    const hosts = address === null ? await bindHosts(spec) : [address.host];
    const alone = !this.#holdsPort(port) && seats.every(({ holder }) => holder === null);
    return hosts.map((host) => ({ network: 'udp', host, port, reusePort, alone }));
  }

  #holdsPort(port: number): boolean {
    return [...this.#listeners.values()].some(
      ({ spec, address, seats }) =>
        spec.network === 'udp' && address?.port === port && seats.some(({ holder }) => holder !== null),
    );
  }

  /** Where two may share an address nobody is turned away in between. */
  async #replace(listener: OwnedListener, seat: OwnedSeat, before: SocketHolder): Promise<void> {
    const next = this.#deps.holderAt(seat.position);
    const id = identity(listener.spec);
    const mayShare = listener.spec.network === 'udp' && this.#deps.reusePort;
    if (!mayShare) {
      await closeQuietly(before, id);
      seat.holder = null;
    }
    if (next !== null && next !== before && (await this.#bind(listener, seat, next))) next.openSocket(id);
    else seat.holder = null;
    if (mayShare) await closeQuietly(before, id);
  }
}

/** All are asked before the first one answers: what is opened in their place is asked for afterwards. */
async function closeAll(listeners: readonly OwnedListener[]): Promise<void> {
  const closing = listeners.flatMap(({ spec, seats }) =>
    seats.flatMap(({ holder }) => (holder === null ? [] : [closeQuietly(holder, identity(spec))])),
  );
  await Promise.all(closing);
}

/** A thread that ends first has closed it, too. */
async function closeQuietly(holder: SocketHolder, id: string): Promise<void> {
  await holder.closeSocket(id).catch(() => {});
}

function refusal(spec: ListenerSpec, error: unknown): Error {
  if (spec.unix === undefined) return explain(error, spec);
  const code = error instanceof BindRefusal ? error.code : '';
  return listenError(`unix/${spec.unix.path}`, unixReason(code, error), code, spec.place, error);
}

function unixReason(code: string, error: unknown): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'somebody listens on it (is another server, or another Holdfast, running?)';
    case 'EEXIST':
      return 'there is a file of that name that is no socket (remove it, or choose another path)';
    case 'ENOENT':
      return 'its directory is not there (create it)';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied (who runs the process must be allowed to write to the directory)';
    default:
      return error instanceof Error ? error.message : String(error);
  }
}
