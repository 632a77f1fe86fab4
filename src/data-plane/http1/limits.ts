/** What a message may cost before it is refused. */
export interface HeadLimits {
  /** Bytes of the whole head, from the first byte to the final empty line (included). Exceeded: 431. */
  readonly maxBytes: number;
  /** Field lines. Exceeded: 431. */
  readonly maxFields: number;
  /** Bytes of the request line without its CRLF. Exceeded: 414. */
  readonly maxRequestLine: number;
}

/** Room for large cookies and tokens; the request line takes the 8000 octets RFC 9112 section 3 asks for. */
export const DEFAULT_HEAD_LIMITS: HeadLimits = { maxBytes: 65_536, maxFields: 200, maxRequestLine: 16_384 };

/** A method beyond this length is none that anybody implements (RFC 9112 section 3: 501). */
export const MAX_METHOD_LENGTH = 32;
/** 15 digits stay below 2^53, so a length is always an exact number. */
export const MAX_LENGTH_DIGITS = 15;
/** Hexadecimal digits of a chunk size, leading zeros included. */
export const MAX_CHUNK_SIZE_DIGITS = 16;
/** Bytes of chunk extensions in one message: they carry nothing we forward. Exceeded: 413. */
export const MAX_CHUNK_EXTENSION_BYTES = 4096;
/** Bytes and lines of a trailer section. Exceeded: 431. */
export const MAX_TRAILER_BYTES = 8192;
export const MAX_TRAILER_FIELDS = 64;
