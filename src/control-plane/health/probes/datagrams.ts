/** A connected UDP socket: only such a one is told that a port is unreachable. */
import dgram, { type Socket } from 'node:dgram';
import dns from 'node:dns/promises';
import { isIP } from 'node:net';
import { joinHostPort } from '../../../shared/net/address.ts';
import { localProxyHeader } from '../../../shared/net/proxy-header.ts';
import { type Attempt, ProbeFault } from '../attempt.ts';
import type { ProbeOptions, ProbeTarget } from '../probe.ts';
import { isLocalTrouble } from './local-trouble.ts';

export interface DatagramListener {
  message(bytes: Buffer): void;
  error(error: NodeJS.ErrnoException): void;
}

export class Datagrams {
  /** Who is told; null = nobody asks now. */
  listener: DatagramListener | null = null;
  /** A refusal came while nobody asked. */
  refusedLate = false;
  /** The socket is of no further use. */
  broken = false;
  readonly localAddress: string;
  readonly #socket: Socket;
  readonly #preface: Buffer;

  constructor(socket: Socket, preface: Buffer) {
    this.#socket = socket;
    this.#preface = preface;
    const { address, port } = socket.address();
    this.localAddress = joinHostPort(address, port);
    socket.on('message', (bytes) => this.listener?.message(bytes));
    socket.on('error', (error: NodeJS.ErrnoException) => this.#told(error));
  }

  /** Errors come to the listener. */
  send(bytes: Uint8Array): void {
    const whole = this.#preface.length === 0 ? bytes : Buffer.concat([this.#preface, bytes]);
    this.#socket.send(whole, (error) => {
      if (error !== null) this.#told(error);
    });
  }

  destroy(): void {
    this.listener = null;
    if (this.broken) return;
    this.broken = true;
    this.#socket.close();
  }

  #told(error: NodeJS.ErrnoException): void {
    if (this.listener !== null) return this.listener.error(error);
    if (error.code === 'ECONNREFUSED') this.refusedLate = true;
  }
}

/** A socket to the target; it belongs to the caller. */
export async function openDatagrams(run: Attempt, target: ProbeTarget, options: ProbeOptions): Promise<Datagrams> {
  const ip = await resolve(run, target.host);
  const socket = dgram.createSocket(isIP(ip) === 6 ? 'udp6' : 'udp4');
  const failed = (error: NodeJS.ErrnoException): void => run.fail(datagramFault(error, target));
  socket.on('error', failed);
  try {
    await run.wait<void>((resolve) => {
      // Node gives this callback the error of a connect that failed, and emits none.
      const connected = (error?: NodeJS.ErrnoException): void => (error === undefined ? resolve() : failed(error));
      const connect = (): void => socket.connect(target.port, ip, connected);
      if (options.localAddress === undefined) connect();
      else socket.bind({ address: options.localAddress }, connect);
    });
  } catch (error) {
    socket.close();
    throw error;
  }
  const preface = options.proxyProtocol === undefined ? '' : localProxyHeader('v2');
  const datagrams = new Datagrams(socket, Buffer.from(preface, 'latin1'));
  socket.off('error', failed);
  return datagrams;
}

/** What an error of the socket means. */
export function datagramFault(error: NodeJS.ErrnoException, target: ProbeTarget): ProbeFault {
  const code = error.code ?? error.message;
  const where = `${target.host} port ${target.port}`;
  if (code === 'ECONNREFUSED') return new ProbeFault('PORT_UNREACHABLE', `nothing listens on ${where} (${code})`);
  if (isLocalTrouble(code)) return new ProbeFault('LOCAL_TROUBLE', `this machine could not send (${code})`);
  return new ProbeFault('CONNECT_FAILED', `no way to ${where} (${code})`);
}

/**
 * Sends one datagram and hands answers to `read` until it makes something of one. What it throws away
 * is no failure before time is up: it may be late, or forged.
 */
export async function askOnce<T>(
  run: Attempt,
  target: ProbeTarget,
  options: ProbeOptions,
  question: { readonly bytes: Uint8Array; readonly text: string; readonly read: (bytes: Buffer) => T | string },
): Promise<T> {
  const datagrams = run.own(await openDatagrams(run, target, options));
  let other = '';
  run.localAddress = datagrams.localAddress;
  run.onDeadline = () =>
    other === ''
      ? new ProbeFault('RECV_RESPONSE_TIMEOUT', `no answer to what was sent${run.from()} ${run.limit()}`)
      : new ProbeFault('RESPONSE_NOT_MATCH', other);
  run.step('local', `from ${datagrams.localAddress}`);
  run.step('sent', question.text, question.bytes);
  return run.wait<T>((resolve) => {
    datagrams.listener = {
      error: (error) => run.fail(datagramFault(error, target)),
      message: (bytes) => {
        run.step('received', `${bytes.length} bytes`, bytes);
        const answer = question.read(bytes);
        if (typeof answer === 'string') other = answer;
        else resolve(answer);
      },
    };
    datagrams.send(question.bytes);
  });
}

async function resolve(run: Attempt, host: string): Promise<string> {
  if (isIP(host) !== 0) return host;
  return run.wait<string>((found) => {
    dns.lookup(host).then(
      ({ address }) => found(address),
      (error: unknown) => run.fail(new ProbeFault('CONNECT_FAILED', `${host} has no address (${String(error)})`)),
    );
  });
}
