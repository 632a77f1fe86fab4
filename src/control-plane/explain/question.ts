import { joinHostPort, splitHostPort } from '../../shared/net/address.ts';
import { parseIp, type IpAddress } from '../../shared/net/ip.ts';
import type { CompiledConfig } from '../compile/compiled.ts';

/** What is asked: where would this request go? */
export interface Question {
  /** `http://host[:port]/path?query`, or `https://…`; the path is taken byte for byte. */
  readonly url: string;
  /** Address of the TCP peer, as text. */
  readonly peer: string;
  /** Default GET. */
  readonly method?: string;
  /** Header lines, names and values. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

/** A question that cannot be answered: what is wrong with it, in one sentence. */
export class QuestionError extends Error {
  override readonly name = 'QuestionError';
}

export interface ParsedQuestion {
  readonly port: number;
  /** It comes over TLS. */
  readonly secure: boolean;
  readonly peer: IpAddress;
  /** The request as it would come in, the empty line that ends it included. */
  readonly head: string;
}

const DEFAULT_PORTS = Object.freeze({ http: 80, https: 443 });

/** Throws a `QuestionError` for a URL, peer or header that no client could send. */
export function parseQuestion({ url, peer, method = 'GET', headers = [] }: Question): ParsedQuestion {
  const parts = /^(https?):\/\/([^/?#@\s]+)([^#\s]*)$/i.exec(url);
  if (parts === null) throw new QuestionError(`'${url}' is no URL of a request: write http://host/path`);
  const secure = parts[1]!.toLowerCase() === 'https';
  const authority = parts[2]!;
  const port = splitHostPort(authority)?.port ?? DEFAULT_PORTS[secure ? 'https' : 'http'];
  const target = parts[3]!.startsWith('/') ? parts[3]! : `/${parts[3]!}`;
  const address = parseIp(peer);
  if (address === null) throw new QuestionError(`the peer '${peer}' is not an IP address`);
  const named = headers.some(([name]) => name.toLowerCase() === 'host');
  const lines = [...(named ? [] : [['Host', authority] as const]), ...headers].map(headerLine);
  return { port, secure, peer: address, head: `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n` };
}

/** Bytes of a text header are those of its UTF-8 form, as clients send them. */
function headerLine([name, value]: readonly [string, string]): string {
  if (/[\r\n]/.test(name + value)) throw new QuestionError(`the header '${name}' has a line break in it`);
  return `${name}: ${Buffer.from(value, 'utf8').toString('latin1')}\r\n`;
}

export type ServerSpec = CompiledConfig['servers'][number];

export interface ChosenServer {
  readonly server: ServerSpec;
  /** Key of the listener that would take the connection. */
  readonly listener: string;
  readonly host: string;
  readonly port: number;
  /** A remark when the port of the URL is not one that is listened on; ''. */
  readonly note: string;
}

export type BoundPorts = ReadonlyMap<string, { readonly host: string; readonly port: number }>;

/** The server a connection to `port` reaches. The only server there is takes the question whatever the port: ports are mapped. */
export function chooseServer(compiled: CompiledConfig, bound: BoundPorts, port: number): ChosenServer {
  const open = compiled.servers.flatMap((server) =>
    server.listeners.map((listener) => ({ server, listener, ...boundAt(compiled, bound, listener) })),
  );
  const exact = open.find((candidate) => candidate.port === port);
  if (exact !== undefined) return { ...exact, note: '' };
  const [only] = open;
  if (only === undefined) throw new QuestionError('the config has no HTTP server: nothing would take the request');
  if (compiled.servers.length === 1)
    return { ...only, note: `nothing listens on port ${port}; the only server is taken` };
  const ports = open.map((candidate) => joinHostPort(candidate.host, candidate.port)).join(', ');
  throw new QuestionError(`nothing listens on port ${port}: there is ${ports}`);
}

/** Throws when the listener speaks the other of the two. */
export function checkScheme({ server, listener, port }: ChosenServer, secure: boolean): void {
  const speaksTls = server.tls?.listeners.includes(listener) === true;
  if (speaksTls === secure) return;
  const [spoken, scheme] = speaksTls ? ['HTTPS', 'https://'] : ['plain HTTP', 'http://'];
  throw new QuestionError(
    `port ${port} speaks ${spoken}: ask with ${scheme}${speaksTls ? '' : ', and X-Forwarded-Proto where a proxy in front ends TLS'}`,
  );
}

function boundAt(compiled: CompiledConfig, bound: BoundPorts, key: string): { host: string; port: number } {
  const spec = compiled.listeners.find((listener) => listener.key === key);
  const { host, port } = bound.get(key) ?? spec ?? { host: '', port: 0 };
  return { host, port };
}
