import { joinHostPort, splitHostPort } from '../../shared/net/address.ts';
import { parseIp, type IpAddress } from '../../shared/net/ip.ts';
import type { CompiledConfig } from '../compile/compiled.ts';
import { helloBytes } from './hello-bytes.ts';
import { QuestionError, type BoundPorts } from './question.ts';

/** What is asked: where would this connection, or the session of this datagram, go? */
export interface FlowQuestion {
  /** `tcp/[host]:port` or `udp/[host]:port`. */
  readonly address: string;
  /** The client: `ip` or `ip:port`. */
  readonly peer: string;
  /** Server name and ALPN names of its ClientHello. */
  readonly sni?: string;
  readonly alpn?: readonly string[];
  /** Its first bytes, or its datagram, in hexadecimal. */
  readonly firstBytes?: string;
}

export interface ParsedFlow {
  readonly network: 'tcp' | 'udp';
  /** '' = not said. */
  readonly host: string;
  readonly port: number;
  readonly peer: IpAddress;
  readonly peerPort: number;
  /** null = nothing is known of them. */
  readonly firstBytes: Buffer | null;
}

/** A port that stands for any client's. */
const PEER_PORT = 50_000;
const MAX_NAME_BYTES = 255;

/** Whether a question's address is one of layer 4. */
export function isFlowAddress(address: string): boolean {
  return /^(tcp|udp)\//i.test(address);
}

/** Throws a `QuestionError` for what no client could be, or send. */
export function parseFlowQuestion(question: FlowQuestion): ParsedFlow {
  const [, network = '', authority = ''] = /^(tcp|udp)\/(.*)$/i.exec(question.address) ?? [];
  const parts = splitHostPort(authority.startsWith(':') ? `0.0.0.0${authority}` : authority);
  const port = parts?.port ?? 0;
  if (parts === null || port < 1) {
    throw new QuestionError(`'${question.address}' is no address of a listener: write tcp/:3306 or udp/192.0.2.1:53`);
  }
  return {
    network: network.toLowerCase() === 'udp' ? 'udp' : 'tcp',
    host: authority.startsWith(':') ? '' : parts.host,
    port,
    ...parsePeer(question.peer),
    firstBytes: parseBytes(question),
  };
}

function parsePeer(text: string): { peer: IpAddress; peerPort: number } {
  const plain = parseIp(text);
  if (plain !== null) return { peer: plain, peerPort: PEER_PORT };
  const parts = splitHostPort(text);
  const peer = parts === null ? null : parseIp(parts.host);
  if (peer === null) throw new QuestionError(`the peer '${text}' is neither an IP address nor one with a port`);
  return { peer, peerPort: parts?.port ?? PEER_PORT };
}

function parseBytes({ sni, alpn = [], firstBytes }: FlowQuestion): Buffer | null {
  const isHello = sni !== undefined || alpn.length > 0;
  if (firstBytes === undefined) {
    if (!isHello) return null;
    const long = [sni ?? '', ...alpn].find((name) => name.length > MAX_NAME_BYTES || /[^\x21-\x7e]/.test(name));
    if (long !== undefined) throw new QuestionError(`'${long}' is no name that a ClientHello can hold`);
    return helloBytes(sni ?? '', alpn);
  }
  if (isHello) throw new QuestionError('the first bytes are either given, or made of a server name and ALPN names');
  const digits = firstBytes.replace(/^0x/i, '').replace(/[\s:]/g, '');
  if (digits.length % 2 !== 0 || /[^0-9a-f]/i.test(digits)) {
    throw new QuestionError(`'${firstBytes}' is not a row of bytes in hexadecimal, such as 1603010200`);
  }
  return Buffer.from(digits, 'hex');
}

export type FlowServerSpec = CompiledConfig['layer4'][number];

export interface ChosenFlowServer {
  readonly server: FlowServerSpec;
  /** Key of the listener that would take it. */
  readonly listener: string;
  /** Address of the listener, '' = all. */
  readonly host: string;
}

/** The server that listens there: on that address, else on all addresses. */
export function chooseFlowServer(compiled: CompiledConfig, bound: BoundPorts, flow: ParsedFlow): ChosenFlowServer {
  const open = compiled.layer4
    .filter(({ network }) => network === flow.network)
    .flatMap((server) =>
      server.listeners.map((listener) => ({ server, listener, ...placeOf(compiled, bound, listener) })),
    );
  const there = open.filter(({ port }) => port === flow.port);
  const chosen =
    flow.host === ''
      ? there[0]
      : (there.find(({ host }) => host === flow.host) ?? there.find(({ host }) => isEverywhere(host)));
  if (chosen !== undefined) return chosen;
  const known = open.map(({ host, port }) => `${flow.network}/${joinHostPort(host, port)}`).join(', ');
  const asked = `${flow.network}/${joinHostPort(flow.host, flow.port)}`;
  throw new QuestionError(
    `no layer4 server listens on ${asked}: ${known === '' ? `there is none on ${flow.network}` : `there is ${known}`}`,
  );
}

export function isEverywhere(host: string): boolean {
  return host === '' || host === '::' || host === '0.0.0.0';
}

function placeOf(compiled: CompiledConfig, bound: BoundPorts, key: string): { host: string; port: number } {
  const spec = compiled.listeners.find((listener) => listener.key === key);
  const { host, port } = bound.get(key) ?? spec ?? { host: '', port: 0 };
  return { host, port };
}
