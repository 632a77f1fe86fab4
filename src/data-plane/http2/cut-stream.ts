/** The one way to end a stream so that its peer does not take what it has for the whole. */
import { addAbortSignal } from 'node:stream';
import { constants, type Http2Stream } from 'node:http2';

/**
 * RST_STREAM with INTERNAL_ERROR or CANCEL. `stream.close(code)` ends the writable side first, and Node sends that end
 * (END_STREAM) before the reset: a response without a length would look complete. Destroying sends the reset alone; its
 * code is INTERNAL_ERROR, or CANCEL when an abort signal did it.
 */
export function cutStream(stream: Http2Stream, code: number): void {
  if (code === constants.NGHTTP2_CANCEL) addAbortSignal(AbortSignal.abort(), stream);
  else stream.destroy(new Error('cut'));
}
