/** How upstreams are spoken to over TLS. Plain data: files are read by the control plane. */
export interface UpstreamTlsPlan {
  /** Hash of all the rest: connections of the same identity, server name and address may stand in for each other. */
  readonly identity: string;
  /** Chain and name of the server's certificate are checked. Default true. */
  readonly verify: boolean;
  /** Sent as SNI, and what the certificate is checked for; '' (default) = the host of each upstream as configured. */
  readonly serverName: string;
  /** Certificates (PEM) of trusted authorities; null (default) = those of the system. */
  readonly trusted: readonly string[] | null;
  /** What we show a server that asks for it; null = nothing. */
  readonly certificate: ClientCertificatePlan | null;
  /** From the TCP connection to the end of the handshake; 0 (default) = both together have the dial timeout. */
  readonly handshakeTimeoutMs: number;
  /** Groups for the key exchange by their OpenSSL names, separated by colons; '' (default) = Node's. */
  readonly curves: string;
  /** Ports that are spoken to in the clear all the same. */
  readonly exceptPorts: readonly number[];
}

export interface ClientCertificatePlan {
  /** PEM, the leaf first. */
  readonly chain: string;
  /** PEM. */
  readonly key: string;
}
