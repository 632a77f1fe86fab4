import type { Random } from '../../../shared/random.ts';
import { attempt } from '../attempt.ts';
import type { Probe } from '../probe.ts';
import { askOnce } from './datagrams.ts';
import { randomBytes } from './random-bytes.ts';

/** RFC 9000 section 14.1: servers drop shorter datagrams that begin a connection. */
const DATAGRAM_BYTES = 1200;
const ID_BYTES = 8;
/** Long header and fixed bit (RFC 9000 section 17.2). */
const FIRST_BYTE = 0xc0;
const LONG_HEADER = 0x80;
/** RFC 9000 section 15: versions of this form make every server answer with those it knows. */
const RESERVED_VERSION = 0x1a2a3a4a;
const VERSIONS: Readonly<Record<number, string>> = Object.freeze({ 0x00000001: '1', 0x6b3343cf: '2' });

/** `quic`: asks in a version that nobody has; a QUIC server answers with Version Negotiation. */
export function quicCheck(random: Random): Probe {
  return {
    run: (target, options, deps) =>
      attempt(options.timeoutMs, deps, async (run) => {
        const destination = randomBytes(random, ID_BYTES);
        const source = randomBytes(random, ID_BYTES);
        const versions = await askOnce(run, target, options, {
          bytes: initialOf(destination, source),
          text: `a QUIC packet of the reserved version 0x${RESERVED_VERSION.toString(16)}`,
          read: (answer) => readVersions(answer, destination, source),
        });
        return { detail: `speaks QUIC ${versions.map((version) => VERSIONS[version] ?? hex(version)).join(', ')}` };
      }),
  };
}

function initialOf(destination: Buffer, source: Buffer): Buffer {
  const version = Buffer.alloc(4);
  version.writeUInt32BE(RESERVED_VERSION);
  const head = Buffer.concat([
    Buffer.from([FIRST_BYTE]),
    version,
    Buffer.from([ID_BYTES]),
    destination,
    Buffer.from([ID_BYTES]),
    source,
  ]);
  return Buffer.concat([head, Buffer.alloc(DATAGRAM_BYTES - head.length)]);
}

/** RFC 8999 section 6: the ids come back the other way round. */
function readVersions(answer: Buffer, destination: Buffer, source: Buffer): readonly number[] | string {
  const ids = Buffer.concat([Buffer.from([ID_BYTES]), source, Buffer.from([ID_BYTES]), destination]);
  const listAt = 5 + ids.length;
  if (answer.length < listAt || (answer[0]! & LONG_HEADER) === 0) return 'what came is no QUIC long header';
  if (answer.readUInt32BE(1) !== 0) return 'a QUIC packet came that is no Version Negotiation';
  if (!answer.subarray(5, listAt).equals(ids)) return 'Version Negotiation came with other connection ids';
  const count = Math.floor((answer.length - listAt) / 4);
  if (count === 0) return 'Version Negotiation came without a version';
  return Array.from({ length: count }, (_, at) => answer.readUInt32BE(listAt + 4 * at));
}

function hex(version: number): string {
  return `0x${version.toString(16).padStart(8, '0')}`;
}
