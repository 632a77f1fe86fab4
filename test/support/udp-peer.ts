/** UDP on loopback for tests: clients and servers that remember what they got. */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { TestContext } from 'node:test';

export interface Datagram {
  readonly data: Buffer;
  readonly from: RemoteInfo;
}

export class UdpPeer {
  readonly socket: Socket;
  readonly received: Datagram[] = [];
  /** What the kernel told: ECONNREFUSED, … */
  readonly errors: string[] = [];
  #looks: (() => void)[] = [];

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('message', (data, from) => {
      this.received.push({ data, from });
      this.#look();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.errors.push(error.code ?? error.message);
      this.#look();
    });
  }

  get port(): number {
    return this.socket.address().port;
  }

  get texts(): string[] {
    return this.received.map(({ data }) => data.toString('latin1'));
  }

  send(data: string | Buffer, port: number, address = '127.0.0.1'): void {
    this.socket.send(data, port, address);
  }

  /** Resolves when so many datagrams have come in all. */
  async got(count: number): Promise<readonly Datagram[]> {
    await this.until(() => this.received.length >= count);
    return this.received;
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#looks.push(resolve));
  }

  /** Sends, and resolves with the next datagram that comes. */
  async ask(data: string | Buffer, port: number, address = '127.0.0.1'): Promise<Buffer> {
    const before = this.received.length;
    this.send(data, port, address);
    await this.got(before + 1);
    return this.received[before]!.data;
  }

  /** Asks until an answer satisfies: datagrams may be lost, so each try waits a moment only. */
  async askUntil(data: string, port: number, holds: (answer: string) => boolean): Promise<string> {
    for (;;) {
      const before = this.received.length;
      this.send(data, port);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const answer = this.texts.slice(before).find(holds);
      if (answer !== undefined) return answer;
    }
  }

  #look(): void {
    const looks = this.#looks;
    this.#looks = [];
    for (const look of looks) look();
  }
}

export async function udpPeer(t: TestContext, host = '127.0.0.1', port = 0): Promise<UdpPeer> {
  const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4', recvBufferSize: 4_194_304 });
  const peer = new UdpPeer(socket);
  socket.bind(port, host);
  await once(socket, 'listening');
  t.after(() => closeQuietly(socket));
  return peer;
}

export interface UdpServer extends UdpPeer {
  close(): void;
}

/** Answers every datagram with `answer` of it; by default with `<name>:` and the same bytes. */
export async function udpServer(
  t: TestContext,
  name: string,
  answer: (data: Buffer) => Buffer | null = (data) => Buffer.concat([Buffer.from(`${name}:`), data]),
  port = 0,
): Promise<UdpServer> {
  const peer = await udpPeer(t, '127.0.0.1', port);
  peer.socket.on('message', (data, from) => {
    const reply = answer(data);
    if (reply !== null) peer.socket.send(reply, from.port, from.address);
  });
  return Object.assign(peer, { close: () => closeQuietly(peer.socket) });
}

function closeQuietly(socket: Socket): void {
  try {
    socket.close();
  } catch {
    // The test closed it.
  }
}
