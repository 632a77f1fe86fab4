/** `method` and `rewrite` of `reverse_proxy`: what is sent differs from what was routed. */
import { BODY_NONE, type Head } from '../http1/head.ts';
import type { RequestView } from './request-view.ts';
import type { Rewrite } from './rewrite.ts';

export interface UpstreamRequest {
  readonly method: string;
  readonly target: string;
}

/** Method and target that go upstream. Policies, matchers and placeholders go on seeing those that were routed. */
export function upstreamRequest(request: RequestView, rewrite: Rewrite): UpstreamRequest {
  const { method, target } = request;
  rewrite(request);
  const sent = { method: request.method, target: request.target };
  request.method = method;
  request.target = target;
  return sent;
}

/**
 * A body means nothing with GET and HEAD (RFC 9110 section 9.3.1): where the method became one of them it is not sent
 * on. Takes it out of the head; true = what the client sends of it is to be read and dropped.
 */
export function emptiesBody(head: Head, routed: string, sent: string): boolean {
  if (sent === routed || (sent !== 'GET' && sent !== 'HEAD') || head.body === BODY_NONE) return false;
  head.body = BODY_NONE;
  head.contentLength = -1;
  head.expectContinue = false;
  return true;
}
