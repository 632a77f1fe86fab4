import { MORE, NO, YES } from '../answer.ts';
import type { FlowMatcher } from '../flow-view.ts';

/** RFC 4253 section 4.2. A client that waits for the server's own line first cannot be told. */
const IDENTIFICATION = 'SSH-';

export function compileSsh(): FlowMatcher {
  return ({ bytes }) => {
    const length = Math.min(bytes.length, IDENTIFICATION.length);
    if (bytes.toString('latin1', 0, length) !== IDENTIFICATION.slice(0, length)) return NO;
    return length === IDENTIFICATION.length ? YES : MORE;
  };
}
