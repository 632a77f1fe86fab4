/**
 * Entity tags of config values, as Caddy computes them, so that its scripts can check ours:
 * `"<request path> <xxHash64 of the body in hex>"`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

const MASK = 0xffffffffffffffffn;
const P1 = 0x9e3779b185ebca87n;
const P2 = 0xc2b2ae3d27d4eb4fn;
const P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n;
const P5 = 0x27d4eb2f165667c5n;

type Lanes = [bigint, bigint, bigint, bigint];

/** Bytes hashed in one turn of the event loop, whole stripes: about 5 ms with BigInt. */
const SLICE_BYTES = 131_072;

/** `path`: the request path with `/config`; `body`: the reply, its newline included. A long body is hashed in slices. */
export async function etagOf(path: string, body: string): Promise<string> {
  return `"${path} ${(await xxHash64(Buffer.from(body))).toString(16).padStart(16, '0')}"`;
}

/** xxHash64 with seed 0, after its published specification (Collet, "xxHash fast digest algorithm"). */
export async function xxHash64(bytes: Buffer): Promise<bigint> {
  const end = bytes.length - (bytes.length % 32);
  const lanes: Lanes = [(P1 + P2) & MASK, P2, 0n, -P1 & MASK];
  for (let at = 0; at < end; at += SLICE_BYTES) {
    if (end > SLICE_BYTES) await nextTurn();
    hashStripes(lanes, bytes, at, Math.min(at + SLICE_BYTES, end));
  }
  const hash = end === 0 ? P5 : mergeLanes(lanes);
  return avalanche(hashTail(bytes, end, (hash + BigInt(bytes.length)) & MASK));
}

/** The 32-byte stripes from `from` to before `end`, over four accumulators. */
function hashStripes(lanes: Lanes, bytes: Buffer, from: number, end: number): void {
  for (let at = from; at < end; at += 32) {
    for (let lane = 0; lane < 4; lane += 1) lanes[lane] = round(lanes[lane]!, bytes.readBigUInt64LE(at + lane * 8));
  }
}

function mergeLanes(lanes: Lanes): bigint {
  const [a, b, c, d] = lanes;
  const sum = (rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n)) & MASK;
  return lanes.reduce((hash, lane) => ((hash ^ round(0n, lane)) * P1 + P4) & MASK, sum);
}

/** What is left after the stripes: words of eight bytes, one of four, single bytes. */
function hashTail(bytes: Buffer, from: number, start: bigint): bigint {
  let at = from;
  let hash = start;
  for (; at + 8 <= bytes.length; at += 8) {
    hash = (rotate(hash ^ round(0n, bytes.readBigUInt64LE(at)), 27n) * P1 + P4) & MASK;
  }
  if (at + 4 <= bytes.length) {
    hash = (rotate(hash ^ ((BigInt(bytes.readUInt32LE(at)) * P1) & MASK), 23n) * P2 + P3) & MASK;
    at += 4;
  }
  for (; at < bytes.length; at += 1) hash = (rotate(hash ^ ((BigInt(bytes[at]!) * P5) & MASK), 11n) * P1) & MASK;
  return hash;
}

function round(lane: bigint, input: bigint): bigint {
  return (rotate((lane + input * P2) & MASK, 31n) * P1) & MASK;
}

function rotate(value: bigint, bits: bigint): bigint {
  return ((value << bits) | (value >> (64n - bits))) & MASK;
}

function avalanche(start: bigint): bigint {
  let hash = start ^ (start >> 33n);
  hash = (hash * P2) & MASK;
  hash ^= hash >> 29n;
  hash = (hash * P3) & MASK;
  return hash ^ (hash >> 32n);
}
