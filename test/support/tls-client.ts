/** TLS clients for tests. */
import { once } from 'node:events';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { RawClient, type RawResponse } from './raw-client.ts';

export interface TlsClient {
  readonly raw: RawClient;
  readonly socket: TLSSocket;
}

/** Resolves when the handshake is done; rejects with the error that ended it. */
export async function openTls(port: number, options: ConnectionOptions): Promise<TlsClient> {
  const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: ['http/1.1'], ...options });
  try {
    await once(socket, 'secureConnect');
  } catch (error) {
    socket.on('error', () => {});
    socket.destroy();
    throw error;
  }
  return { raw: new RawClient(socket), socket };
}

/** One GET on a connection of its own. */
export async function getTls(
  port: number,
  options: ConnectionOptions,
  target = '/',
  headers: Readonly<Record<string, string>> = {},
): Promise<RawResponse> {
  const { raw } = await openTls(port, options);
  try {
    const host = headers['Host'] ?? options.servername ?? 'localhost';
    const rest = Object.entries(headers).filter(([name]) => name !== 'Host');
    const lines = rest.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    return await raw.send(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${lines}Connection: close\r\n\r\n`).response();
  } finally {
    raw.close();
  }
}
