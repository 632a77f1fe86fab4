/** Reading DER, and the BER that some programs write instead (X.690). PURE. */

/** A value with its tag. Constructed ones hold others, see `childrenOf`. */
export interface Element {
  /** Of the identifier: class and form included. */
  readonly tag: number;
  readonly content: Buffer;
  /** Tag, length and content as they stand in the bytes. */
  readonly whole: Buffer;
}

export const INTEGER = 0x02;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
export const SEQUENCE = 0x30;
/** `[0] EXPLICIT`. */
export const CONTEXT_0 = 0xa0;

const CONSTRUCTED = 0x20;
const INDEFINITE = 0x80;
/** Deeper than anything real, and than any stack minds. */
const MAX_DEPTH = 32;

/** The element at `at`. Throws an Error with one sentence. */
export function readElement(bytes: Buffer, at = 0, depth = 0): Element {
  const tag = byteAt(bytes, at);
  if ((tag & 0x1f) === 0x1f) throw new Error('it is damaged: a tag of a kind that does not belong there');
  const first = byteAt(bytes, at + 1);
  if (first === INDEFINITE) return readIndefinite(bytes, at, tag, depth);
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  if (lengthBytes > 4 || at + 2 + lengthBytes > bytes.length) throw new Error('it is damaged: a length cannot be read');
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
  const from = at + 2 + lengthBytes;
  if (from + length > bytes.length) throw new Error('it is cut off');
  return { tag, content: bytes.subarray(from, from + length), whole: bytes.subarray(at, from + length) };
}

/** It ends with two zero bytes behind its last child. */
function readIndefinite(bytes: Buffer, at: number, tag: number, depth: number): Element {
  if ((tag & CONSTRUCTED) === 0 || depth > MAX_DEPTH) throw new Error('it is damaged: a length cannot be read');
  const from = at + 2;
  let end = from;
  while (byteAt(bytes, end) !== 0 || byteAt(bytes, end + 1) !== 0) {
    end += readElement(bytes, end, depth + 1).whole.length;
  }
  return { tag, content: bytes.subarray(from, end), whole: bytes.subarray(at, end + 2) };
}

/** What a constructed element holds. */
export function childrenOf({ content }: Element): Element[] {
  const children: Element[] = [];
  for (let at = 0; at < content.length;) {
    const child = readElement(content, at);
    children.push(child);
    at += child.whole.length;
  }
  return children;
}

/** The bytes of an octet string, which BER may have in pieces. `tag` is without the bit for that. */
export function octetsOf(element: Element, tag: number = OCTET_STRING): Buffer {
  if (element.tag === tag) return element.content;
  if (element.tag !== (tag | CONSTRUCTED)) throw new Error('it is damaged: bytes are missing where they should be');
  return Buffer.concat(childrenOf(element).map((part) => octetsOf(part)));
}

/** Throws unless it has the tag. */
export function expectTag(element: Element | undefined, tag: number): Element {
  if (element?.tag !== tag) throw new Error('it is damaged: its parts are not what they should be');
  return element;
}

/** `1.2.840.113549.1.7.1` */
export function objectIdOf(element: Element | undefined): string {
  const { content } = expectTag(element, OBJECT_ID);
  const numbers: number[] = [];
  let value = 0;
  for (const byte of content) {
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      numbers.push(value);
      value = 0;
    }
  }
  const [first = 0, ...rest] = numbers;
  const top = Math.min(2, Math.floor(first / 40));
  return [top, first - top * 40, ...rest].join('.');
}

/** Throws for negative numbers and those above 2^31. */
export function smallNumberOf(element: Element | undefined): number {
  const { content } = expectTag(element, INTEGER);
  if (content.length === 0 || content.length > 5 || content[0]! >= 0x80) {
    throw new Error('it is damaged: a number is out of range');
  }
  const value = content.readUIntBE(0, content.length);
  if (value > 2 ** 31) throw new Error('it is damaged: a number is out of range');
  return value;
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new Error('it is cut off');
  return byte;
}
