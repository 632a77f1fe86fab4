/** The first datagram of a QUIC client, whole and valid, so that a real server answers it with its handshake. */
import { createCipheriv, createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';

/** RFC 9001 section 5.2. */
const INITIAL_SALT = Buffer.from('38762cf7f55934b34d179ae6a4c80cadccbb7f0a', 'hex');
const VERSION_1 = Buffer.from('00000001', 'hex');
/** RFC 9000 section 14.1. */
const MIN_DATAGRAM_BYTES = 1200;
const TAG_BYTES = 16;
const PACKET_NUMBER = Buffer.alloc(4);

/** `destination` is the id that the client makes up (at least 8 bytes), `source` what it wants to be called. */
export function quicInitial(destination: Buffer, source: Buffer, serverName: string): Buffer {
  const head = Buffer.concat([
    // Long header, Initial, packet number of four bytes.
    Buffer.of(0xc3),
    VERSION_1,
    Buffer.of(destination.length),
    destination,
    Buffer.of(source.length),
    source,
    // No token.
    Buffer.of(0),
  ]);
  const payloadBytes = MIN_DATAGRAM_BYTES - head.length - 2 - PACKET_NUMBER.length - TAG_BYTES;
  const payload = Buffer.concat([cryptoFrame(clientHello(serverName, source))], payloadBytes);
  const header = Buffer.concat([head, varint(PACKET_NUMBER.length + payloadBytes + TAG_BYTES), PACKET_NUMBER]);
  return protect(header, payload, destination);
}

/** RFC 9001 sections 5.3 and 5.4. The packet number is 0, so the nonce is the IV. */
function protect(header: Buffer, payload: Buffer, destination: Buffer): Buffer {
  const initial = createHmac('sha256', INITIAL_SALT).update(destination).digest();
  const client = expand(initial, 'client in', 32);
  const cipher = createCipheriv('aes-128-gcm', expand(client, 'quic key', 16), expand(client, 'quic iv', 12));
  cipher.setAAD(header);
  const sealed = Buffer.concat([cipher.update(payload), cipher.final(), cipher.getAuthTag()]);
  const packet = Buffer.concat([header, sealed]);
  const numberAt = header.length - PACKET_NUMBER.length;
  const masker = createCipheriv('aes-128-ecb', expand(client, 'quic hp', 16), null);
  const mask = masker.update(packet.subarray(numberAt + 4, numberAt + 20));
  packet[0]! ^= mask[0]! & 0x0f;
  for (let at = 0; at < PACKET_NUMBER.length; at += 1) packet[numberAt + at]! ^= mask[at + 1]!;
  return packet;
}

/** HKDF-Expand-Label (RFC 8446 section 7.1) of one block. */
function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.of(0, length, name.length), name, Buffer.of(0, 1)]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, length);
}

function cryptoFrame(message: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x06, 0), varint(message.length), message]);
}

/** RFC 9000 section 16, in two bytes. */
function varint(value: number): Buffer {
  return Buffer.of(0x40 | (value >>> 8), value & 0xff);
}

function clientHello(serverName: string, source: Buffer): Buffer {
  const { publicKey } = generateKeyPairSync('x25519');
  const share = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
  const name = Buffer.from(serverName);
  const extensions = [
    extension(0, counted(Buffer.concat([Buffer.of(0), counted(name)]))),
    extension(10, counted(Buffer.of(0, 0x1d))),
    extension(13, counted(Buffer.from('040308040401050308050501', 'hex'))),
    extension(16, counted(Buffer.from('\x02h3', 'latin1'))),
    extension(43, Buffer.of(2, 3, 4)),
    extension(51, counted(Buffer.concat([Buffer.of(0, 0x1d), counted(share)]))),
    // Transport parameters: initial_source_connection_id.
    extension(57, Buffer.concat([Buffer.of(0x0f, source.length), source])),
  ];
  const body = Buffer.concat([
    Buffer.of(3, 3),
    randomBytes(32),
    Buffer.of(0),
    counted(Buffer.of(0x13, 0x01)),
    Buffer.of(1, 0),
    counted(Buffer.concat(extensions)),
  ]);
  return Buffer.concat([Buffer.of(1, 0), counted(body)]);
}

function extension(type: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.of(type >>> 8, type & 0xff), counted(content)]);
}

/** Behind its length in two bytes. */
function counted(content: Buffer): Buffer {
  return Buffer.concat([Buffer.of(content.length >>> 8, content.length & 0xff), content]);
}
