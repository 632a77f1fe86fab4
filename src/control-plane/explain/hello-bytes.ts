/** The first bytes of a TLS client, made of what a question says about it (RFC 8446 section 4.1.2). */

const RECORD_HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const TLS_1_2 = 0x0303;
const TLS_AES_128_GCM_SHA256 = 0x1301;
const EXTENSION_SERVER_NAME = 0;
const EXTENSION_ALPN = 16;
const RANDOM_BYTES = 32;

/** `serverName` '' and an empty `alpn` leave the extension out. */
export function helloBytes(serverName: string, alpn: readonly string[]): Buffer {
  const extensions = [
    ...(serverName === '' ? [] : [extension(EXTENSION_SERVER_NAME, nameList(serverName))]),
    ...(alpn.length === 0 ? [] : [extension(EXTENSION_ALPN, protocolList(alpn))]),
  ];
  const body = Buffer.concat([
    word(TLS_1_2),
    Buffer.alloc(RANDOM_BYTES),
    // No session id, one cipher suite, no compression.
    Buffer.of(0),
    counted(word(TLS_AES_128_GCM_SHA256)),
    Buffer.of(1, 0),
    counted(Buffer.concat(extensions)),
  ]);
  const message = Buffer.concat([Buffer.of(CLIENT_HELLO, 0), counted(body)]);
  return Buffer.concat([Buffer.of(RECORD_HANDSHAKE), word(TLS_1_2), counted(message)]);
}

/** RFC 6066 section 3. */
function nameList(serverName: string): Buffer {
  return counted(Buffer.concat([Buffer.of(0), counted(Buffer.from(serverName, 'latin1'))]));
}

/** RFC 7301 section 3.1. */
function protocolList(alpn: readonly string[]): Buffer {
  const names = alpn.map((name) => Buffer.from(name, 'latin1'));
  return counted(Buffer.concat(names.flatMap((name) => [Buffer.of(name.length), name])));
}

function extension(type: number, content: Buffer): Buffer {
  return Buffer.concat([word(type), counted(content)]);
}

/** Behind its length in two bytes. */
function counted(content: Buffer): Buffer {
  return Buffer.concat([word(content.length), content]);
}

function word(value: number): Buffer {
  return Buffer.of(value >>> 8, value & 0xff);
}
