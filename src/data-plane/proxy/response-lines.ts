/** The header lines of an upstream's response as they go to the client, without framing and connection fields. */
import { BODY_CHUNKED, BODY_CLOSE, type Head } from '../http1/head.ts';
import { finishProxiedFields, type CompiledResponseOps, type LeftForResponse } from '../route/response-ops.ts';
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

function dropOf(head: Head): DropSet {
  if (head.status < 200 || head.status === 204) return BODYLESS_RESPONSE_DROP;
  return head.body === BODY_CHUNKED || head.body === BODY_CLOSE ? CHUNKED_RESPONSE_DROP : RESPONSE_DROP;
}
