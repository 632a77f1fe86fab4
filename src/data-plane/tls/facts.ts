/** What is known of the TLS under a connection. Read from OpenSSL when somebody asks. */
import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { TlsFacts } from '../route/tls-facts.ts';

export class SocketTlsFacts implements TlsFacts {
  readonly #socket: TLSSocket;
  readonly serverName: string;
  readonly policyKey: string;
  readonly proto: string;
  #certificate: X509Certificate | undefined;
  #asked = false;

  constructor(socket: TLSSocket, serverName: string, policyKey: string) {
    this.#socket = socket;
    this.serverName = serverName;
    this.policyKey = policyKey;
    this.proto = typeof socket.alpnProtocol === 'string' ? socket.alpnProtocol : '';
  }

  get version(): string {
    return (this.#socket.getProtocol() ?? '').toLowerCase().replace('v', '');
  }

  get cipherSuite(): string {
    return this.#socket.getCipher()?.standardName ?? '';
  }

  get resumed(): boolean {
    return this.#socket.isSessionReused();
  }

  get clientCertificate(): X509Certificate | undefined {
    if (!this.#asked) this.#certificate = this.#socket.getPeerX509Certificate();
    this.#asked = true;
    return this.#certificate;
  }
}
