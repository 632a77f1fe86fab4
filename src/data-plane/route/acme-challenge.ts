/** Answers an authority that wants to see who serves a name (HTTP-01, RFC 8555 section 8.3). */
import type { RespondDecision, WaitDecision } from './decision.ts';
import type { RequestView } from './request-view.ts';

const CHALLENGE_PATH = /^\/\.well-known\/acme-challenge\/([A-Za-z0-9_-]{1,256})$/;

/** null = no challenge of ours: what stands behind has its turn, also when nobody knows the token. */
export function answerChallenge({ method, target }: RequestView): WaitDecision | null {
  const token = CHALLENGE_PATH.exec(target)?.[1];
  if (token === undefined || (method !== 'GET' && method !== 'HEAD')) return null;
  return {
    kind: 'wait',
    errand: { kind: 'challenge', token },
    finish({ outcome, text }): RespondDecision | null {
      if (outcome !== 'yes') return null;
      const fields = ['Content-Type', 'application/octet-stream'];
      return { kind: 'respond', status: 200, fields, body: text, close: false };
    },
  };
}
