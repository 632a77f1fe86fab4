import { CR, LF } from './chars.ts';

/**
 * Index just behind the CR LF CR LF that ends a head in buffer[from, to), −1 when it is not there yet. To resume
 * after more bytes came, start 3 bytes before the old end.
 */
export function findHeadEnd(buffer: Buffer, from: number, to: number): number {
  // Looks at the place of the last LF: what stands there says how far the pattern can be moved on (Horspool).
  let at = from + 3;
  while (at < to) {
    const byte = buffer[at]!;
    if (byte === LF) {
      if (buffer[at - 1] === CR && buffer[at - 2] === LF && buffer[at - 3] === CR) return at + 1;
      at += 2;
    } else {
      at += byte === CR ? 1 : 4;
    }
  }
  return -1;
}

/**
 * Index of the first byte of the request in buffer[from, to): behind the empty lines some clients send after a body
 * (RFC 9112 section 2.2). Their number has no limit of its own, or the answer would depend on how the bytes were split;
 * each is looked at once and none is kept. A lone CR at the end stays: more bytes will tell.
 */
export function skipLeadingCrlf(buffer: Buffer, from: number, to: number): number {
  let at = from;
  while (at + 1 < to && buffer[at] === CR && buffer[at + 1] === LF) at += 2;
  return at;
}

/**
 * Does an LF without CR before it stand in buffer[from, to)? Such a head never ends for `findHeadEnd`; whoever asks
 * this while waiting for the rest can answer 400 at once instead of running into a time limit.
 */
export function hasBareLf(buffer: Buffer, from: number, to: number): boolean {
  for (let at = buffer.indexOf(LF, from); at >= 0 && at < to; at = buffer.indexOf(LF, at + 1)) {
    if (at === from || buffer[at - 1] !== CR) return true;
  }
  return false;
}
