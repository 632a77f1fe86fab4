/**
 * TLS servers that never listen: each stands for one policy with one choice of certificates and is fed with accepted
 * sockets. They are made at first use and kept, because making a context costs as much as several handshakes.
 */
import { constants, createHash } from 'node:crypto';
import { createServer, type Server, type TlsOptions, type TLSSocket } from 'node:tls';
import type { CertificatePlan, TlsPolicyPlan } from '../../shared/plan/tls.ts';

/** A context takes some 50 KB. */
const MAX_CONTEXTS = 1000;
/** How long a session may be resumed: as long as its ticket can be read. */
const SESSION_SECONDS = 12 * 3600;
/** Ours runs out first; Node wants one of its own. */
const NODE_HANDSHAKE_TIMEOUT_MS = 600_000;

interface Context {
  readonly server: Server;
  readonly certificates: readonly string[];
}

export interface ContextDeps {
  onSecure(socket: TLSSocket): void;
  /** Of a handshake that failed. The connection is closed already, or will be. */
  onError(socket: TLSSocket, error: Error): void;
}

export class TlsContexts {
  readonly #deps: ContextDeps;
  readonly #contexts = new Map<string, Context>();
  #ticketKeys: Buffer | null = null;

  constructor(deps: ContextDeps) {
    this.#deps = deps;
  }

  /** Throws when OpenSSL does not take the certificates or the policy. `policyKey` names the policy. */
  serverFor(policyKey: string, policy: TlsPolicyPlan, certificates: readonly CertificatePlan[]): Server {
    const key = `${policyKey} ${certificates.map(({ id }) => id).join(' ')}`;
    const known = this.#contexts.get(key);
    if (known !== undefined) return known.server;
    const server = this.#create(policyKey, policy, certificates);
    const oldest = this.#contexts.size < MAX_CONTEXTS ? undefined : this.#contexts.keys().next().value;
    if (oldest !== undefined) this.#contexts.delete(oldest);
    this.#contexts.set(key, { server, certificates: certificates.map(({ id }) => id) });
    return server;
  }

  forget(certificates: readonly string[]): void {
    if (certificates.length === 0) return;
    const gone = new Set(certificates);
    for (const [key, context] of this.#contexts) {
      if (context.certificates.some((id) => gone.has(id))) this.#contexts.delete(key);
    }
  }

  setTicketKeys(keys: Buffer): void {
    this.#ticketKeys = keys;
    for (const { server } of this.#contexts.values()) server.setTicketKeys(keys);
  }

  #create(policyKey: string, policy: TlsPolicyPlan, certificates: readonly CertificatePlan[]): Server {
    const server = createServer(optionsOf(policyKey, policy, certificates));
    if (this.#ticketKeys !== null) server.setTicketKeys(this.#ticketKeys);
    server.on('secureConnection', (socket: TLSSocket) => this.#deps.onSecure(socket));
    server.on('tlsClientError', (error: Error, socket: TLSSocket) => this.#deps.onError(socket, error));
    const stapled = new Map(certificates.flatMap(({ ocsp, chain }) => (ocsp === null ? [] : [[chain, ocsp] as const])));
    const [first] = stapled.values();
    // Node does not say which certificate was chosen in a form that is cheap to compare: it staples for single ones.
    if (first !== undefined && certificates.length === 1) {
      const response = Buffer.from(first, 'base64');
      server.on('OCSPRequest', (_certificate, _issuer, reply) => reply(null, response));
    }
    return server;
  }
}

function optionsOf(policyKey: string, policy: TlsPolicyPlan, certificates: readonly CertificatePlan[]): TlsOptions {
  return {
    cert: certificates.map(({ chain }) => chain),
    key: certificates.map(({ key }) => key),
    minVersion: policy.minVersion,
    maxVersion: policy.maxVersion,
    ciphers: policy.ciphers,
    ecdhCurve: policy.curves,
    honorCipherOrder: true,
    // A handshake in the middle of a connection costs us more than the client that asks for it.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    // With an empty list every client that offers a protocol would be refused.
    ...(policy.alpn.length === 0 ? {} : { ALPNProtocols: [...policy.alpn] }),
    requestCert: policy.clientAuth !== null,
    // Decided after the handshake, by the mode: Node knows two of the four.
    rejectUnauthorized: false,
    ...(policy.clientAuth === null ? {} : { ca: [...policy.clientAuth.trusted] }),
    sessionTimeout: SESSION_SECONDS,
    handshakeTimeout: NODE_HANDSHAKE_TIMEOUT_MS,
    // A session made under one policy must not be resumed under another, which may ask for a client certificate.
    sessionIdContext: createHash('sha256').update(policyKey).digest('hex').slice(0, 32),
  };
}
