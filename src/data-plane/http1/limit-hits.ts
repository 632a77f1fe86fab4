/** Which limit a refused message hit. */
import {
  LIMIT_CHUNK_EXTENSIONS,
  LIMIT_HEADER_BYTES,
  LIMIT_HEADER_FIELDS,
  LIMIT_REQUEST_LINE,
  LIMIT_TRAILERS,
} from '../../shared/state-table/layout.ts';
import { ERROR_TOO_MANY_FIELDS } from './errors.ts';

/** Of a request head answered with `status`; `fault` is that of its parse, 0 = it was not parsed. −1 = none. */
export function limitOfHead(status: number, fault: number): number {
  if (status === 414) return LIMIT_REQUEST_LINE;
  if (status !== 431) return -1;
  return fault === ERROR_TOO_MANY_FIELDS ? LIMIT_HEADER_FIELDS : LIMIT_HEADER_BYTES;
}

/** Of a request body whose chunks broke off with `status`; −1 = none. */
export function limitOfBody(status: number): number {
  if (status === 413) return LIMIT_CHUNK_EXTENSIONS;
  return status === 431 ? LIMIT_TRAILERS : -1;
}
