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
import { CertificateQuestions } from './certificate-questions.ts';
import { CertificateSet } from './certificate-set.ts';
import { TlsContexts } from './contexts.ts';
import type { TlsFacts } from '../route/tls-facts.ts';
import { SocketTlsFacts } from './facts.ts';
import { ALERT_INTERNAL_ERROR, ALERT_UNRECOGNIZED_NAME, Handshake, rawSocketOf, WAITS } from './handshake.ts';
import type { TlsPolicies, TlsPolicy } from './policies.ts';

/** What is spoken while an authority validates a name (RFC 8737). */
const ACME_ALPN = 'acme-tls/1';
/** Getting a certificate takes an authority some seconds, or a minute. */
const MAX_WAIT_MS = 90_000;

export interface TlsFrontDeps {
  readonly wheel: TimerWheel;
  readonly servers: Rows;
  /** A client may speak now. `facts.proto` says what. */
  onSecure(socket: TLSSocket, raw: Socket, facts: TlsFacts, listenerKey: string, place: Place | null): void;
  /** A connection ended without a handshake. */
  onFailed(place: Place | null): void;
  /** The control plane is asked for a certificate; `certificateAnswered` brings the answer. */
  ask(id: number, name: string, challenge: boolean): void;
  /** A context could not be made. */
  warn(message: string): void;
}

/** Who wants a connection for something else than HTTP. One of the two is called, once. */
export interface SecureOwner {
  onSecure(socket: TLSSocket, raw: Socket, facts: TlsFacts): void;
  /** The socket is closed, or will be. */
  onHandshakeFailed(): void;
}

interface Begun {
  readonly handshake: Handshake;
  readonly policies: TlsPolicies;
  readonly row: number;
  readonly place: Place | null;
  readonly owner: SecureOwner | null;
  policy: TlsPolicy | null;
}

export class TlsFront {
  readonly #deps: TlsFrontDeps;
  readonly #certificates = new CertificateSet();
  readonly #contexts: TlsContexts;
  readonly #questions: CertificateQuestions;
  readonly #begun = new Map<Socket, Begun>();
  /** Of these, those with an owner. */
  #owned = 0;

  constructor(deps: TlsFrontDeps) {
    this.#deps = deps;
    this.#questions = new CertificateQuestions((id, name, challenge) => deps.ask(id, name, challenge));
    // What is wrong with a handshake is told by the end of its socket.
    this.#contexts = new TlsContexts({ onSecure: (socket) => this.#onSecure(socket), onError: () => {} });
  }

  /** Handshakes that run now, but for those that somebody else counts. */
  get size(): number {
    return this.#begun.size - this.#owned;
  }

  updateCertificates(add: readonly CertificatePlan[], drop: readonly string[]): void {
    this.#certificates.update(add, drop);
    // A new certificate of a name may win over what a context was made with.
    this.#contexts.forget(drop);
  }

  certificateAnswered(id: number, certificate: CertificatePlan | null): void {
    this.#questions.answered(id, certificate);
  }

  setTicketKeys(keys: Uint8Array): void {
    this.#contexts.setTicketKeys(Buffer.from(keys));
  }

  /** `row` is the server's, where it is counted. */
  accept(
    policies: TlsPolicies,
    row: number,
    socket: Socket,
    listenerKey: string,
    place: Place | null,
    owner: SecureOwner | null = null,
  ): void {
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
    if (owner !== null) this.#owned += 1;
    this.#begun.set(socket, { handshake, policies, row, place, owner, policy: null });
  }

  /** The thread ends. */
  resetAll(): void {
    for (const { handshake } of [...this.#begun.values()]) handshake.reset();
  }

  #choose(handshake: Handshake, hello: ClientHello): number {
    const begun = this.#begun.get(handshake.raw);
    const policy = begun?.policies.find(hello.serverName, handshake.raw) ?? null;
    if (begun === undefined || policy === null) return ALERT_UNRECOGNIZED_NAME;
    begun.policy = policy;
    const { asks } = begun.policies;
    if (asks !== null && hello.alpn.includes(ACME_ALPN)) return this.#ask(begun, hello.serverName, true);
    const certificates = this.#certificatesFor(policy, handshake);
    if (certificates.length > 0) return this.#enter(policy, certificates, handshake);
    return asks === 'all' && hello.serverName !== ''
      ? this.#ask(begun, hello.serverName, false)
      : ALERT_UNRECOGNIZED_NAME;
  }

  #certificatesFor({ plan }: TlsPolicy, { raw, serverName }: Handshake): readonly CertificatePlan[] {
    // Asking for it is a system call, and only a hello without a name needs the answer.
    const localAddress = serverName === '' ? (raw.localAddress ?? '').replace(/^::ffff:(?=[\d.]+$)/, '') : '';
    return this.#certificates.find(plan, serverName, localAddress);
  }

  /** The alert to refuse with; 0 = OpenSSL has it. */
  #enter(policy: TlsPolicy, certificates: readonly CertificatePlan[], { raw, serverName }: Handshake): number {
    try {
      this.#contexts.serverFor(policy.key, policy.plan, certificates).emit('connection', raw);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#deps.warn(`TLS for '${serverName}' cannot be set up: ${why}`);
      return ALERT_INTERNAL_ERROR;
    }
    return 0;
  }

  #ask(begun: Begun, name: string, challenge: boolean): number {
    const asked = this.#questions.ask(name, challenge, (certificate) => this.#goOn(begun, challenge, certificate));
    if (!asked) return ALERT_INTERNAL_ERROR;
    begun.handshake.waitFor(MAX_WAIT_MS);
    return WAITS;
  }

  #goOn(begun: Begun, challenge: boolean, certificate: CertificatePlan | null): void {
    const { handshake, policy, policies } = begun;
    if (policy === null || this.#begun.get(handshake.raw) !== begun) return;
    const used = challenge ? challengePolicy(policy) : policy;
    const found = challenge ? [certificate].filter((one) => one !== null) : this.#certificatesFor(policy, handshake);
    begun.policy = used;
    const alert = found.length > 0 ? this.#enter(used, found, handshake) : ALERT_INTERNAL_ERROR;
    // It is shown to nobody else.
    if (challenge) this.#contexts.forget(found.map(({ id }) => id));
    handshake.goOn(alert, policies.handshakeTimeoutMs);
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
    if (facts.proto === ACME_ALPN) {
      // The authority has seen what it wanted. Nothing is served on such a connection (RFC 8737 section 3).
      socket.end();
      begun.handshake.farewell();
      return;
    }
    if (!begun.handshake.take()) return;
    this.#forget(raw, begun);
    this.#deps.servers.count(begun.row, SERVER_HANDSHAKES, 1);
    if (facts.resumed) this.#deps.servers.count(begun.row, SERVER_HANDSHAKES_RESUMED, 1);
    if (begun.owner !== null) begun.owner.onSecure(socket, raw, facts);
    else this.#deps.onSecure(socket, raw, facts, begun.handshake.listenerKey, begun.place);
  }

  #onFailed(raw: Socket): void {
    const begun = this.#begun.get(raw);
    if (begun === undefined) return;
    this.#forget(raw, begun);
    this.#deps.servers.count(begun.row, SERVER_HANDSHAKES_FAILED, 1);
    if (begun.owner !== null) begun.owner.onHandshakeFailed();
    else this.#deps.onFailed(begun.place);
  }

  #forget(raw: Socket, { owner }: Begun): void {
    this.#begun.delete(raw);
    if (owner !== null) this.#owned -= 1;
  }
}

/** Whether a client that showed this certificate, or none, may speak. */
function isWelcome(auth: ClientAuthPlan | null, socket: TLSSocket, facts: TlsFacts): boolean {
  if (auth === null) return true;
  const { mode, trusted, leaves } = auth;
  const { clientCertificate: shown } = facts;
  if (shown === undefined) return mode === 'request' || mode === 'verify_if_given';
  if (leaves !== undefined && !leaves.includes(shown.fingerprint256.replaceAll(':', '').toLowerCase())) return false;
  if (mode === 'request' || mode === 'require') return true;
  // Without authorities it is the list that verifies.
  return trusted.length === 0 || socket.authorized;
}

/** Nobody's certificate is asked for, and nothing else is spoken. */
function challengePolicy({ plan }: TlsPolicy): TlsPolicy {
  return { key: ACME_ALPN, plan: { ...plan, alpn: [ACME_ALPN], clientAuth: null } };
}
