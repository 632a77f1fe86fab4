/** Error codes of RST_STREAM and GOAWAY (RFC 9113 section 7). */
import { constants } from 'node:http2';
import type { UpstreamFailure } from '../proxy/sides.ts';

const NAMES: readonly string[] = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
];

/** Codes that say that what one of the two sent is no HTTP/2. */
const INVALID: readonly number[] = [
  constants.NGHTTP2_PROTOCOL_ERROR,
  constants.NGHTTP2_FLOW_CONTROL_ERROR,
  constants.NGHTTP2_FRAME_SIZE_ERROR,
  constants.NGHTTP2_COMPRESSION_ERROR,
];

/** Only REFUSED_STREAM promises that nothing was done with the request (section 8.7). */
export function failureOf(code: number): UpstreamFailure {
  if (code === constants.NGHTTP2_REFUSED_STREAM) return 'refused';
  return INVALID.includes(code) ? 'invalid' : 'closed';
}

export function nameOfError(code: number): string {
  return `stream ended with ${NAMES[code] ?? `code ${code}`}`;
}
