/** What is known of the TLS under a connection. Read from OpenSSL when somebody asks, and once: access lines ask every time. */
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
  #version = '';
  #cipherSuite = '';

  constructor(socket: TLSSocket, serverName: string, policyKey: string) {
    this.#socket = socket;
    this.serverName = serverName;
    this.policyKey = policyKey;
    this.proto = typeof socket.alpnProtocol === 'string' ? socket.alpnProtocol : '';
  }

  get version(): string {
    if (this.#version === '') this.#version = (this.#socket.getProtocol() ?? '').toLowerCase().replace('v', '');
    return this.#version;
  }

  get cipherSuite(): string {
    if (this.#cipherSuite === '') this.#cipherSuite = this.#socket.getCipher()?.standardName ?? '';
    return this.#cipherSuite;
  }

  get resumed(): boolean {
    return this.#socket.isSessionReused();
  }

  get verified(): boolean {
    return this.clientCertificate !== undefined && this.#socket.authorized;
  }

  get clientCertificate(): X509Certificate | undefined {
    if (!this.#asked) this.#certificate = this.#socket.getPeerX509Certificate();
    this.#asked = true;
    return this.#certificate;
  }
}
