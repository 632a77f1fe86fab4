import type { Layer4MatcherPlan } from '../../../shared/plan/layer4.ts';
import { CLASS, SP, TOKEN } from '../../http1/chars.ts';
import { Head } from '../../http1/head.ts';
import { DEFAULT_HEAD_LIMITS, MAX_METHOD_LENGTH } from '../../http1/limits.ts';
import { parseRequestHead } from '../../http1/request-parser.ts';
import { findHeadEnd } from '../../http1/scan.ts';
import { compileTargetTest } from '../../route/match/path.ts';
import { createPathReader } from '../../route/path.ts';
import { hostOfAuthority } from '../../route/target.ts';
import { MORE, NO, YES, type Answer } from '../answer.ts';
import type { FlowMatcher } from '../flow-view.ts';
import { compileNames } from './tls.ts';

/** RFC 9113 section 3.4. What follows it is compressed, so only the protocol itself can be told. */
const HTTP2_PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** The connection begins with the head of an HTTP/1 request that fits, or with an HTTP/2 preface if any request does. */
export function compileHttp(plan: Extract<Layer4MatcherPlan, { readonly kind: 'http' }>): FlowMatcher {
  const hasHost = compileNames(plan.hosts);
  const hasPath = plan.paths.length === 0 ? null : compileTargetTest(plan.paths, createPathReader());
  const { methods } = plan;
  const takesAny = plan.hosts.length === 0 && hasPath === null && methods.length === 0;
  const head = new Head();
  return ({ bytes }) => {
    if (startsHttp2(bytes)) {
      if (bytes.length < HTTP2_PREFACE.length) return MORE;
      return takesAny ? YES : NO;
    }
    const begins = startsWithMethod(bytes);
    if (begins !== YES) return begins;
    const end = findHeadEnd(bytes, 0, bytes.length);
    if (end < 0) return MORE;
    if (parseRequestHead(bytes.toString('latin1', 0, end), head, DEFAULT_HEAD_LIMITS) !== 0) return NO;
    if (methods.length > 0 && !methods.includes(head.method)) return NO;
    if (hasPath !== null && !hasPath(head.originForm)) return NO;
    return hasHost(hostOfAuthority(head.authority)) ? YES : NO;
  };
}

/** What there is of the bytes is what there would be of a preface. */
function startsHttp2(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, HTTP2_PREFACE.length);
  return length > 0 && bytes.toString('latin1', 0, length) === HTTP2_PREFACE.slice(0, length);
}

function startsWithMethod(bytes: Buffer): Answer {
  let at = 0;
  while (at < bytes.length && at <= MAX_METHOD_LENGTH && (CLASS[bytes[at]!]! & TOKEN) !== 0) at += 1;
  if (at === bytes.length) return MORE;
  return at > 0 && bytes[at] === SP ? YES : NO;
}
