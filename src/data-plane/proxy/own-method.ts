import { BODY_CLOSE, BODY_NONE, type Head } from '../http1/head.ts';

/**
 * The method was rewritten, but the client reads its answer as one to its own (RFC 9112 section 6.3). Changes the
 * framing of `head`; true = the body that comes is not for the client.
 */
export function frameForOwnMethod(head: Head, method: string, ownMethod: string): boolean {
  if (ownMethod === 'HEAD') {
    head.body = BODY_NONE;
    return true;
  }
  // The length it announces belongs to a body that will not come.
  if (method === 'HEAD' && head.body === BODY_NONE && head.status !== 204 && head.status !== 304)
    head.body = BODY_CLOSE;
  return false;
}
