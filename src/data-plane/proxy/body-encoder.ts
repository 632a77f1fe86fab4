/**
 * A body on its way through zlib. Its work is done by the threads of libuv, one piece after another, so bytes come out
 * later than they went in, and the end of the response is the end of what comes out.
 */
import {
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  type BrotliCompress,
  type Gzip,
  type ZstdCompress,
} from 'node:zlib';
import type { EncodingPlan } from '../../shared/plan/types.ts';

/**
 * Windows (log2 of bytes) smaller than the formats' defaults of 2 to 4 MiB: they are what a running response costs
 * in memory, and a page or an API answer is rarely larger.
 */
const BROTLI_WINDOW_LOG = 18;
/** Qualities 6 to 9 search tables of up to 32 MiB, but with a window of this size one of 2 MiB. */
const BROTLI_SMALL_WINDOW_LOG = 16;
const ZSTD_WINDOW_LOG = 19;
/** Its search tables, four bytes an entry: the better levels would take ten times the window for them. */
const ZSTD_TABLE_LOG = 17;

export interface EncoderUser {
  /** False = stop until `resume`. The bytes are the receiver's. */
  onEncoded(bytes: Buffer): boolean;
  /** It takes bytes again. */
  onEncoderDrain(): void;
  onEncoderEnd(): void;
  /** Out of memory, most likely: the rest of the body cannot be sent. */
  onEncoderFailed(): void;
}

type ZlibStream = Gzip | BrotliCompress | ZstdCompress;

export class BodyEncoder {
  readonly #stream: ZlibStream;
  readonly #flushKind: number;
  /** Bytes went in since the last flush. */
  #unflushed = false;
  #flushing = false;
  #flushAgain = false;

  constructor(format: EncodingPlan, user: EncoderUser) {
    const stream = openStream(format);
    this.#stream = stream;
    this.#flushKind = FLUSH_KINDS[format.name];
    stream.on('data', (bytes: Buffer) => {
      if (!user.onEncoded(bytes)) stream.pause();
    });
    stream.on('drain', () => user.onEncoderDrain());
    stream.on('end', () => user.onEncoderEnd());
    stream.on('error', () => user.onEncoderFailed());
  }

  /** The bytes are not changed by anybody afterwards. False = stop until onEncoderDrain. */
  write(bytes: Buffer): boolean {
    this.#unflushed = true;
    return this.#stream.write(bytes);
  }

  /** What went in comes out. Flushes asked for while one runs become one. */
  flush(): void {
    if (!this.#unflushed) return;
    if (this.#flushing) {
      this.#flushAgain = true;
      return;
    }
    this.#unflushed = false;
    this.#flushing = true;
    this.#stream.flush(this.#flushKind, () => {
      this.#flushing = false;
      if (!this.#flushAgain) return;
      this.#flushAgain = false;
      this.flush();
    });
  }

  end(): void {
    this.#unflushed = false;
    this.#stream.end();
  }

  resume(): void {
    this.#stream.resume();
  }

  /** Nobody waits for the rest. */
  destroy(): void {
    this.#stream.destroy();
  }
}

const FLUSH_KINDS: Readonly<Record<EncodingPlan['name'], number>> = Object.freeze({
  gzip: constants.Z_SYNC_FLUSH,
  br: constants.BROTLI_OPERATION_FLUSH,
  zstd: constants.ZSTD_e_flush,
});

function openStream({ name, level }: EncodingPlan): ZlibStream {
  switch (name) {
    case 'gzip':
      return createGzip({ level });
    case 'br':
      return createBrotliCompress({
        params: { [constants.BROTLI_PARAM_QUALITY]: level, [constants.BROTLI_PARAM_LGWIN]: brotliWindow(level) },
      });
    case 'zstd':
      return createZstdCompress({
        params: {
          [constants.ZSTD_c_compressionLevel]: level,
          [constants.ZSTD_c_windowLog]: ZSTD_WINDOW_LOG,
          [constants.ZSTD_c_hashLog]: ZSTD_TABLE_LOG,
          [constants.ZSTD_c_chainLog]: ZSTD_TABLE_LOG,
        },
      });
  }
}

function brotliWindow(quality: number): number {
  return quality >= 6 && quality <= 9 ? BROTLI_SMALL_WINDOW_LOG : BROTLI_WINDOW_LOG;
}
