/**
 * An HTTP/2 request as HTTP/1 text, so that the one request parser judges it too. What makes a request malformed in
 * HTTP/2 alone (RFC 9113 sections 8.2 and 8.3) is decided here; nghttp2 has refused most of it before.
 */
import { COLON, SLASH } from '../http1/chars.ts';

export interface RequestText {
  /** Up to and with the empty line. */
  readonly text: string;
  /** Field lines in it. A parser that finds another number was given a value that breaks out of its line. */
  readonly lines: number;
  /** It asks for a tunnel (RFC 8441): what is answered with 101 upstream is answered with 200. */
  readonly opensTunnel: boolean;
}

/** RFC 9113 section 8.2.2: they make a request malformed. `upgrade` is ours to write. */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);
const PSEUDO_FIELDS: readonly string[] = [':method', ':scheme', ':path', ':authority', ':protocol'];
const BAD_REQUEST = 400;
const NOT_IMPLEMENTED = 501;

/** What was read so far. `null` = not there. */
interface Fields {
  readonly pseudo: Record<string, string>;
  lines: string;
  count: number;
  cookies: string | null;
  host: string | null;
  hasLength: boolean;
}

/** `raw` alternates names and values; `ended`: no body follows. A number is the status to refuse it with. */
export function requestText(
  raw: readonly string[],
  ended: boolean,
  createWebSocketKey: () => string,
): RequestText | number {
  const fields: Fields = { pseudo: {}, lines: '', count: 0, cookies: null, host: null, hasLength: false };
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (!readField(fields, raw[at]!, raw[at + 1]!)) return BAD_REQUEST;
  }
  const { ':method': method = '', ':scheme': scheme, ':path': path = '', ':authority': authority } = fields.pseudo;
  const host = authority ?? fields.host;
  if (method === 'CONNECT' && fields.pseudo[':protocol']?.toLowerCase() !== 'websocket') return NOT_IMPLEMENTED;
  if (scheme !== 'http' && scheme !== 'https') return BAD_REQUEST;
  // An absolute form would name a second authority.
  if (path.charCodeAt(0) !== SLASH && path !== '*') return BAD_REQUEST;
  if (host === null || (fields.host !== null && !isSame(fields.host, host))) return BAD_REQUEST;
  if (fields.cookies !== null) addLine(fields, 'cookie', fields.cookies);
  const opensTunnel = fields.pseudo[':protocol'] !== undefined;
  if (opensTunnel) {
    if (method !== 'CONNECT' || fields.hasLength) return BAD_REQUEST;
    askForWebSocket(fields, createWebSocketKey());
  } else if (!ended && !fields.hasLength) {
    addLine(fields, 'transfer-encoding', 'chunked');
  }
  const line = `${opensTunnel ? 'GET' : method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  return { text: `${line}${fields.lines}\r\n`, lines: fields.count + 1, opensTunnel };
}

/** False when the request is malformed. */
function readField(fields: Fields, name: string, value: string): boolean {
  if (name.charCodeAt(0) === COLON) {
    if (!PSEUDO_FIELDS.includes(name) || fields.pseudo[name] !== undefined) return false;
    fields.pseudo[name] = value;
  } else if (name === 'cookie') {
    // Crumbs of one field (section 8.2.3): servers of HTTP/1 read the first line alone.
    fields.cookies = fields.cookies === null ? value : `${fields.cookies}; ${value}`;
  } else if (name === 'host') {
    if (fields.host !== null) return false;
    fields.host = value;
  } else if (CONNECTION_FIELDS.has(name)) {
    return false;
  } else {
    if (name === 'content-length') fields.hasLength = true;
    // Means nothing in HTTP/2 (RFC 8441 section 5), and ours is the one that counts upstream.
    if (name !== 'sec-websocket-key') addLine(fields, name, value);
  }
  return true;
}

function addLine(fields: Fields, name: string, value: string): void {
  fields.lines += `${name}: ${value}\r\n`;
  fields.count += 1;
}

function askForWebSocket(fields: Fields, key: string): void {
  addLine(fields, 'connection', 'Upgrade');
  addLine(fields, 'upgrade', 'websocket');
  addLine(fields, 'sec-websocket-key', key);
}

/** Section 8.3.1: two that name different hosts make a request malformed. */
function isSame(one: string, other: string): boolean {
  return one === other || one.toLowerCase() === other.toLowerCase();
}
