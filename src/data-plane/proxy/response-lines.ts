/** The header lines of an upstream's response as they go to the client, without framing and connection fields. */
import { BODY_NONE, type Head } from '../http1/head.ts';
import { isUnsized } from '../http1/response-head.ts';
import { encodeFields, type CompiledEncoding } from '../route/encode.ts';
import {
  applyDeferred,
  finishProxiedFields,
  startProxiedFields,
  type CompiledResponseOps,
  type LeftForResponse,
} from '../route/response-ops.ts';
import type { RequestView } from '../route/request-view.ts';
import {
  BODYLESS_RESPONSE_DROP,
  CHUNKED_RESPONSE_DROP,
  keptFields,
  keptLines,
  linesOf,
  RESPONSE_DROP,
  type DropSet,
} from './hop-fields.ts';

const NOTHING_LEFT: LeftForResponse = Object.freeze({ responseFields: [], responseOps: [] });

/** `setCookie` is the affinity cookie, '' = none. It is added last: no header operation touches it. */
export function responseLines(
  request: RequestView,
  head: Head,
  down: CompiledResponseOps | null,
  left: LeftForResponse | null,
  setCookie: string,
): string {
  const drop = dropOf(head);
  const via = head.version === 11 ? 'Via: 1.1 holdfast\r\n' : 'Via: 1.0 holdfast\r\n';
  const cookie = setCookie === '' ? '' : `Set-Cookie: ${setCookie}\r\n`;
  if (down === null && left === null) return keptLines(head, drop) + via + cookie;
  const fields = keptFields(head, drop);
  fields.push('Via', via.slice('Via: '.length, -2));
  finishProxiedFields(fields, head.status, down, left ?? NOTHING_LEFT, request);
  return linesOf(fields) + cookie;
}

/** The same lines where `encode` has a say; null = the body goes as it is. */
export interface EncodedLines {
  readonly lines: string;
  readonly encoding: CompiledEncoding | null;
}

/** Coding comes between what the handler itself says (`header_down`) and what stands around it, as in Caddy. */
export function encodedResponseLines(
  request: RequestView,
  head: Head,
  down: CompiledResponseOps | null,
  left: LeftForResponse | null,
  setCookie: string,
  encoding: CompiledEncoding,
): EncodedLines {
  const { status } = head;
  const fields = keptFields(head, dropOf(head));
  fields.push('Via', head.version === 11 ? '1.1 holdfast' : '1.0 holdfast');
  startProxiedFields(fields, status, down, left ?? NOTHING_LEFT, request);
  const bodyBytes = isUnsized(head.body) ? -1 : head.body === BODY_NONE ? 0 : head.contentLength;
  const isEncoded = encodeFields(encoding, { method: request.head.method, status, bodyBytes }, fields);
  if (left !== null) applyDeferred(fields, status, left, request);
  if (setCookie !== '') fields.push('Set-Cookie', setCookie);
  return { lines: linesOf(fields), encoding: isEncoded ? encoding : null };
}

function dropOf(head: Head): DropSet {
  if (head.status < 200 || head.status === 204) return BODYLESS_RESPONSE_DROP;
  return isUnsized(head.body) ? CHUNKED_RESPONSE_DROP : RESPONSE_DROP;
}
