/** The client's half of TLS to upstreams, as workers and checks both use it. */
import { constants } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import {
  connect,
  createSecureContext,
  getCACertificates,
  type ConnectionOptions,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { splitHostPort } from './address.ts';
import type { UpstreamTlsPlan } from '../plan/upstream-tls.ts';

/** Nobody's servers are older than this, and TLS 1.0 and 1.1 are broken (RFC 8996). */
const MIN_VERSION = 'TLSv1.2';

/** Characters of what a server says of itself. */
const MAX_CLAUSE = 200;

/** Node's own authorities and those of the machine, each once. Reading them takes some 40 ms. */
export function systemRoots(): string[] {
  return [...new Set([...getCACertificates('default'), ...getCACertificates('system')])];
}

/** Throws what OpenSSL says of certificates and keys. `roots` is asked only when the plan names no authorities. */
export function createUpstreamContext(plan: UpstreamTlsPlan, roots: () => string[]): SecureContext {
  const { trusted, certificate, curves } = plan;
  return createSecureContext({
    minVersion: MIN_VERSION,
    // An authority that is named is believed, whoever signed it.
    allowPartialTrustChain: true,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(plan.verify ? { ca: trusted === null ? roots() : [...trusted] } : {}),
    ...(certificate === null ? {} : { cert: certificate.chain, key: certificate.key }),
    ...(curves === '' ? {} : { ecdhCurve: curves }),
  });
}

/** The name a server must prove to have: as configured, else the host in the configured text of the upstream. */
export function serverNameOf(plan: UpstreamTlsPlan, upstream: string): string {
  if (plan.serverName !== '') return plan.serverName;
  const host = splitHostPort(upstream.replace(/^tcp\//i, ''))?.host ?? '';
  return host === '' ? 'localhost' : host.toLowerCase().replace(/\.$/, '');
}

export interface HandshakeOptions {
  readonly verify: boolean;
  readonly serverName: string;
  readonly context: SecureContext;
  /** Names of ALPN; empty = none are sent. */
  readonly alpn: readonly string[];
  /** Of an earlier connection to the same server, to be resumed. */
  readonly session?: Buffer | undefined;
}

/** Starts the handshake on a connected socket. `secureConnect` says that the server is who it should be. */
export function startHandshake(socket: Socket, options: HandshakeOptions): TLSSocket {
  const { serverName, session } = options;
  const connection: ConnectionOptions = {
    socket,
    secureContext: options.context,
    rejectUnauthorized: options.verify,
    // RFC 6066 section 3: an address is no server name. It is compared with the certificate all the same.
    ...(isIP(serverName) === 0 ? { servername: serverName } : { host: serverName }),
    ...(options.alpn.length === 0 ? {} : { ALPNProtocols: [...options.alpn] }),
    ...(session === undefined ? {} : { session }),
  };
  return connect(connection);
}

/** One clause on why a handshake failed and what helps. `where` is the address that was dialled. */
export function describeTlsFault(error: NodeJS.ErrnoException, where: string, serverName: string): string {
  const code = error.code ?? '';
  if (UNTRUSTED.includes(code)) {
    const remedy = 'name the authority that signed it with tls_trust_pool';
    return `the certificate of ${where} is not trusted: ${firstClause(error)}; ${remedy}`;
  }
  if (code === 'CERT_HAS_EXPIRED') return `the certificate of ${where} has expired: renew it on that server`;
  if (code === 'CERT_NOT_YET_VALID') return `the certificate of ${where} is not valid yet: compare the clocks`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const remedy = 'write the name it has behind tls_server_name';
    return `the certificate of ${where} is not for ${serverName}: ${namesIn(error)}; ${remedy}`;
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return `${where} does not speak TLS: write another port, or leave TLS out (of a site: http:// in front of the upstream)`;
  }
  if (/CERTIFICATE_REQUIRED|BAD_CERTIFICATE|HANDSHAKE_FAILURE/.test(code)) {
    return `${where} refused the handshake (${code}): it may want a certificate (tls_client_auth)`;
  }
  return `TLS with ${where} failed: ${firstClause(error)} (${code === '' ? 'no code' : code})`;
}

const UNTRUSTED: readonly string[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'INVALID_CA',
];

/** Node hands out the certificate with the error. */
function namesIn(error: Error): string {
  const { cert } = error as { readonly cert?: { readonly subjectaltname?: string } };
  const names = cert?.subjectaltname ?? '';
  return names === '' ? firstClause(error) : `it is for ${names.slice(0, MAX_CLAUSE)}`;
}

/** Node puts advice about its own command line behind a semicolon. */
function firstClause(error: Error): string {
  return (error.message.split(/[;\n]/)[0] ?? '').replace(/^.*?:error:[0-9A-F]+:/, '').slice(0, MAX_CLAUSE);
}
