/** The TLS ClientHello a connection begins with (RFC 8446 section 4.1.2), as far as routing needs it. PURE. */
import { MORE, NO } from '../answer.ts';

export interface ClientHello {
  /** Lower case; '' when there is none. */
  readonly serverName: string;
  readonly alpn: readonly string[];
}

const CONTENT_HANDSHAKE = 22;
const HANDSHAKE_CLIENT_HELLO = 1;
const RECORD_HEADER_BYTES = 5;
const HANDSHAKE_HEADER_BYTES = 4;
/** RFC 8446 section 5.1. */
const MAX_RECORD_BYTES = 16_384;
/** legacy_version and random. */
const FIXED_BYTES = 34;
const EXTENSION_SERVER_NAME = 0;
const EXTENSION_ALPN = 16;
const NAME_TYPE_HOST = 0;

/** Returns MORE while it may still become a ClientHello, NO when the bytes are none. */
export function readClientHello(bytes: Buffer): ClientHello | typeof NO | typeof MORE {
  const message = handshakeBytes(bytes);
  if (message === NO || message === MORE) return message;
  if (message.length > 0 && message[0] !== HANDSHAKE_CLIENT_HELLO) return NO;
  if (message.length < HANDSHAKE_HEADER_BYTES) return MORE;
  const length = message.readUIntBE(1, 3);
  if (message.length < HANDSHAKE_HEADER_BYTES + length) return MORE;
  return readBody(message.subarray(HANDSHAKE_HEADER_BYTES, HANDSHAKE_HEADER_BYTES + length)) ?? NO;
}

/** The handshake bytes there are: a message may be spread over records (RFC 8446 section 5.1). */
function handshakeBytes(bytes: Buffer): Buffer | typeof NO | typeof MORE {
  if (bytes.length === 0) return MORE;
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] !== CONTENT_HANDSHAKE || (at + 1 < bytes.length && bytes[at + 1] !== 3)) {
      // Behind the first record something else may follow: what is whole by then is decided by its length.
      return at === 0 ? NO : Buffer.concat(parts);
    }
    if (at + RECORD_HEADER_BYTES > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > MAX_RECORD_BYTES) return NO;
    parts.push(bytes.subarray(at + RECORD_HEADER_BYTES, at + RECORD_HEADER_BYTES + length));
    at += RECORD_HEADER_BYTES + length;
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** null = malformed. */
function readBody(body: Buffer): ClientHello | null {
  let at = FIXED_BYTES;
  for (const lengthBytes of [1, 2, 1]) {
    // legacy_session_id, cipher_suites, legacy_compression_methods
    if (at + lengthBytes > body.length) return null;
    at += lengthBytes + body.readUIntBE(at, lengthBytes);
  }
  let serverName = '';
  let alpn: readonly string[] = [];
  if (at === body.length) return { serverName, alpn };
  if (at + 2 > body.length) return null;
  const end = at + 2 + body.readUInt16BE(at);
  if (end !== body.length) return null;
  for (at += 2; at < end;) {
    if (at + 4 > end) return null;
    const type = body.readUInt16BE(at);
    const next = at + 4 + body.readUInt16BE(at + 2);
    if (next > end) return null;
    const data = body.subarray(at + 4, next);
    if (type === EXTENSION_SERVER_NAME) serverName = readServerName(data);
    else if (type === EXTENSION_ALPN) alpn = readAlpn(data);
    at = next;
  }
  return { serverName, alpn };
}

/** RFC 6066 section 3: a list with at most one name of each type. */
function readServerName(data: Buffer): string {
  for (let at = 2; at + 3 <= data.length;) {
    const type = data[at]!;
    const next = at + 3 + data.readUInt16BE(at + 1);
    if (next > data.length) return '';
    if (type === NAME_TYPE_HOST) return data.toString('latin1', at + 3, next).toLowerCase();
    at = next;
  }
  return '';
}

/** RFC 7301 section 3.1. */
function readAlpn(data: Buffer): readonly string[] {
  const names: string[] = [];
  for (let at = 2; at < data.length;) {
    const next = at + 1 + data[at]!;
    if (next > data.length) break;
    names.push(data.toString('latin1', at + 1, next));
    at = next;
  }
  return names;
}
