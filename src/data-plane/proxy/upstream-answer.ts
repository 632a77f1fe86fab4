/** The head of an upstream's response while `handle_response` looks at it, and what it makes of that head. */
import { BODY_CLOSE, BODY_NONE, type Head } from '../http1/head.ts';
import { reasonOf } from '../http1/reasons.ts';
import { findField } from '../route/field-list.ts';
import type { UpstreamAnswer } from '../route/handle-response.ts';
import { keptFields, RESPONSE_DROP } from './hop-fields.ts';

const PREFIX = 'http.reverse_proxy.';
const HEADER = `${PREFIX}header.`;

/** A copy: the head itself is used again by the next response. */
export function answerOf(head: Head): UpstreamAnswer {
  return { status: head.status, reason: reasonText(head), fields: keptFields(head, RESPONSE_DROP) };
}

/** Values of `{http.reverse_proxy.status_code}`, `….status_text` and `….header.*`; undefined = another name. */
export function answerValue(name: string, { status, reason, fields }: UpstreamAnswer): string | undefined {
  if (name === `${PREFIX}status_code`) return String(status);
  // Number and phrase, as Caddy has it.
  if (name === `${PREFIX}status_text`) return `${status} ${reason}`;
  if (!name.startsWith(HEADER)) return undefined;
  const lower = name.slice(HEADER.length).toLowerCase();
  const values: string[] = [];
  for (let at = findField(fields, lower, 0); at >= 0; at = findField(fields, lower, at + 2))
    values.push(fields[at + 1]!);
  return values.join(',');
}

/**
 * Puts another status into `head`, and the framing that goes with it: 204 and 304 end with their head (RFC 9112 section
 * 6.3). True = the body that comes is not for the client.
 */
export function replaceStatus(head: Head, status: number, clientMethod: string): boolean {
  const isBodyless = status === 204 || status === 304;
  const wasBodyless = head.status === 204 || head.status === 304;
  head.status = status;
  if (isBodyless) {
    head.body = BODY_NONE;
    return true;
  }
  // Without a length the client would wait for the end of the connection.
  if (wasBodyless && clientMethod !== 'HEAD') head.body = BODY_CLOSE;
  return false;
}

/** The upstream's own words, unless the status is no longer its own. */
export function reasonFor(head: Head, answer: UpstreamAnswer | null): string {
  return answer === null || answer.status === head.status ? reasonText(head) : reasonOf(head.status);
}

function reasonText(head: Head): string {
  return head.text.slice(head.reasonStart, head.reasonEnd);
}
