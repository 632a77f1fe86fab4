/** TLS as the worker sees it: accepted sockets go in, connections whose handshake is done come out. */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { CertificatePlan, ClientAuthPlan } from '../../shared/plan/tls.ts';
import {
  SERVER_HANDSHAKES,
  SERVER_HANDSHAKES_FAILED,
  SERVER_HANDSHAKES_RESUMED,
} from '../../shared/state-table/layout.ts';
import type { Rows } from '../../shared/state-table/table.ts';
import type { Place } from '../admission.ts';
import type { ClientHello } from '../layer4/match/client-hello.ts';
import type { TimerWheel } from '../wheel.ts';
import { CertificateSet } from './certificate-set.ts';
import { TlsContexts } from './contexts.ts';
import type { TlsFacts } from '../route/tls-facts.ts';
import { SocketTlsFacts } from './facts.ts';
import { ALERT_INTERNAL_ERROR, ALERT_UNRECOGNIZED_NAME, Handshake, rawSocketOf } from './handshake.ts';
import type { TlsPolicies, TlsPolicy } from './policies.ts';

export interface TlsFrontDeps {
  readonly wheel: TimerWheel;
  readonly servers: Rows;
  /** A client may speak now. `facts.proto` says what. */
  onSecure(socket: TLSSocket, raw: Socket, facts: TlsFacts, listenerKey: string, place: Place | null): void;
  /** A connection ended without a handshake. */
  onFailed(place: Place | null): void;
  /** A context could not be made. */
  warn(message: string): void;
}

interface Begun {
  readonly handshake: Handshake;
  readonly policies: TlsPolicies;
  readonly row: number;
  readonly place: Place | null;
  policy: TlsPolicy | null;
}

export class TlsFront {
  readonly #deps: TlsFrontDeps;
  readonly #certificates = new CertificateSet();
  readonly #contexts: TlsContexts;
  readonly #begun = new Map<Socket, Begun>();

  constructor(deps: TlsFrontDeps) {
    this.#deps = deps;
    // What is wrong with a handshake is told by the end of its socket.
    this.#contexts = new TlsContexts({ onSecure: (socket) => this.#onSecure(socket), onError: () => {} });
  }

  /** Handshakes that run now. */
  get size(): number {
    return this.#begun.size;
  }

  updateCertificates(add: readonly CertificatePlan[], drop: readonly string[]): void {
    this.#certificates.update(add, drop);
    // A new certificate of a name may win over what a context was made with.
    this.#contexts.forget(drop);
  }

  setTicketKeys(keys: Uint8Array): void {
    this.#contexts.setTicketKeys(Buffer.from(keys));
  }

  /** `row` is the server's, where it is counted. */
  accept(policies: TlsPolicies, row: number, socket: Socket, listenerKey: string, place: Place | null): void {
    const handshake = new Handshake(
      {
        wheel: this.#deps.wheel,
        choose: (chosen, hello) => this.#choose(chosen, hello),
        onFailed: ({ raw }) => this.#onFailed(raw),
      },
      socket,
      listenerKey,
      policies.handshakeTimeoutMs,
    );
    this.#begun.set(socket, { handshake, policies, row, place, policy: null });
  }

  /** The thread ends. */
  resetAll(): void {
    for (const { handshake } of [...this.#begun.values()]) handshake.reset();
  }

  #choose({ raw }: Handshake, { serverName }: ClientHello): number {
    const begun = this.#begun.get(raw);
    const policy = begun?.policies.find(serverName) ?? null;
    if (begun === undefined || policy === null) return ALERT_UNRECOGNIZED_NAME;
    const localAddress = (raw.localAddress ?? '').replace(/^::ffff:(?=[\d.]+$)/, '');
    const certificates = this.#certificates.find(policy.plan, serverName, localAddress);
    if (certificates.length === 0) return ALERT_UNRECOGNIZED_NAME;
    begun.policy = policy;
    try {
      this.#contexts.serverFor(policy.key, policy.plan, certificates).emit('connection', raw);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#deps.warn(`TLS for '${serverName}' cannot be set up: ${why}`);
      return ALERT_INTERNAL_ERROR;
    }
    return 0;
  }

  #onSecure(socket: TLSSocket): void {
    // A socket that ends in the same turn still tells of errors.
    socket.on('error', () => {});
    const raw = rawSocketOf(socket) as Socket;
    const begun = this.#begun.get(raw);
    if (begun === undefined) {
      socket.destroy();
      return;
    }
    const facts = new SocketTlsFacts(socket, begun.handshake.serverName, begun.policy?.key ?? '');
    if (!isWelcome(begun.policy?.plan.clientAuth ?? null, socket, facts)) {
      begun.handshake.reset();
      return;
    }
    if (!begun.handshake.take()) return;
    this.#begun.delete(raw);
    this.#deps.servers.count(begun.row, SERVER_HANDSHAKES, 1);
    if (facts.resumed) this.#deps.servers.count(begun.row, SERVER_HANDSHAKES_RESUMED, 1);
    this.#deps.onSecure(socket, raw, facts, begun.handshake.listenerKey, begun.place);
  }

  #onFailed(raw: Socket): void {
    const begun = this.#begun.get(raw);
    if (begun === undefined) return;
    this.#begun.delete(raw);
    this.#deps.servers.count(begun.row, SERVER_HANDSHAKES_FAILED, 1);
    this.#deps.onFailed(begun.place);
  }
}

/** Whether a client that showed this certificate, or none, may speak. */
function isWelcome(auth: ClientAuthPlan | null, socket: TLSSocket, facts: TlsFacts): boolean {
  if (auth === null || auth.mode === 'request') return true;
  if (facts.clientCertificate === undefined) return auth.mode === 'verify_if_given';
  return auth.mode === 'require' || socket.authorized;
}
