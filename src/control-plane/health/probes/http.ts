import { RE2JS } from 're2js';
import type { Probe, ProbeDeps, ProbeResult, ProbeTarget } from '../probe.ts';
import type { HttpProbeSpec } from '../probe-spec.ts';
import type { TlsContexts } from '../tls-contexts.ts';
import type { ReasonWord } from '../reasons.ts';
import { exchange, type ExchangeResult } from './http-exchange.ts';
import { exchangeOverHttp2 } from './http2-exchange.ts';
import {
  acceptsStatus,
  describeExpectedStatus,
  httpProbeOptions,
  probeRequest,
  type HttpProbeOptions,
} from './http-options.ts';
import { redirectTarget } from './http-redirect.ts';
import type { ResponseReader } from './http-response.ts';

const MAX_REDIRECTS = 10;
/** Bytes of a failing body that are kept for people to look at. */
const BODY_EXCERPT_BYTES = 256;

/** What is asked next: the first request, then whatever redirects lead to. */
interface Hop {
  readonly method: string;
  readonly uri: string;
  readonly redirects: number;
}

/** An HTTP/1 exchange on a socket of its own, read to the end of the body (or `maxBodyBytes`). */
export const httpProbe: Probe<HttpProbeOptions> = {
  async run(target, options, deps) {
    const startedAt = deps.clock.now();
    const end = await follow(target, options, deps, startedAt);
    const judgement = judgeResponse(options, end);
    const passed = judgement.reason === '';
    return {
      outcome: passed ? 'pass' : judgement.reason === 'LOCAL_TROUBLE' ? 'neutral' : 'fail',
      reason: judgement.reason,
      detail: judgement.detail,
      roundTripMs: deps.clock.now() - startedAt,
      localAddress: end.localAddress,
      status: end.response.status,
      body: passed ? '' : end.response.body().toString('utf8', 0, BODY_EXCERPT_BYTES),
    } satisfies ProbeResult;
  },
};

/** `health_uri` and `health http`. */
export function httpCheck(spec: HttpProbeSpec, contexts: TlsContexts): Probe {
  const tls = contexts.ready(spec.tls);
  const pattern = spec.expectBody === '' ? null : RE2JS.compile(spec.expectBody);
  return {
    run: (target, options, deps) =>
      httpProbe.run(target, httpProbeOptions(spec, { target, tls, expectBody: pattern }, options), deps),
  };
}

/** Asks, and goes after redirects to the same address when the check wants that. */
async function follow(
  target: ProbeTarget,
  options: HttpProbeOptions,
  deps: ProbeDeps,
  startedAt: number,
): Promise<ExchangeResult> {
  let hop: Hop = { method: options.method, uri: options.uri, redirects: 0 };
  for (;;) {
    const { method, uri, redirects } = hop;
    const ask = options.version === '2' ? exchangeOverHttp2 : exchange;
    const result = await ask(
      target,
      {
        ...options,
        method,
        bytes: probeRequest(options, method, uri),
        timeoutMs: Math.max(1, options.timeoutMs - (deps.clock.now() - startedAt)),
        maxBodyBytes: Math.max(BODY_EXCERPT_BYTES, options.maxBodyBytes),
        suffices: (response) => sufficesAlready(options, response),
      },
      deps,
    );
    const next =
      options.followRedirects && result.reason === '' ? redirectTarget(target, options, uri, result.response) : null;
    if (next === null || redirects === MAX_REDIRECTS) return result;
    hop = { method: methodAfter(result.response.status, method), uri: next, redirects: redirects + 1 };
  }
}

/** RFC 9110 15.4: 307 and 308 repeat the request, the others become GET. */
function methodAfter(status: number, method: string): string {
  return status === 307 || status === 308 || method === 'HEAD' ? method : 'GET';
}

/** The head is all that counts, or the status is wrong and enough of the body is here to show. */
function sufficesAlready(options: HttpProbeOptions, response: ResponseReader): boolean {
  if (response.status === 0) return false;
  if (acceptsStatus(options.statuses, response.status)) return options.maxBodyBytes === 0;
  return response.bodyBytes >= BODY_EXCERPT_BYTES;
}

interface Judgement {
  readonly reason: ReasonWord | '';
  readonly detail: string;
}

function judgeResponse(options: HttpProbeOptions, end: ExchangeResult): Judgement {
  const { response } = end;
  if (end.reason === 'LOCAL_TROUBLE' || end.reason === 'HTTP_INVALID_HEADER' || response.status === 0) return end;
  // A wrong status is the better explanation even when the body behind it broke off.
  if (!acceptsStatus(options.statuses, response.status))
    return { reason: 'HTTP_CODE_NOT_MATCH', detail: wrongStatus(options, response) };
  if (end.reason !== '') return end;
  if (options.expectBody !== null && !options.expectBody.test(response.body().toString('utf8'))) {
    const pattern = options.expectBody.pattern();
    return {
      reason: 'RESPONSE_NOT_MATCH',
      detail: `no match of ${JSON.stringify(pattern)} in ${response.body().length} bytes of body`,
    };
  }
  return { reason: '', detail: `status ${response.status}` };
}

function wrongStatus(options: HttpProbeOptions, response: ResponseReader): string {
  const location = response.field('location');
  const redirected = response.status >= 300 && response.status <= 399 && location !== '';
  const seen = `status ${response.status}, expected ${describeExpectedStatus(options.statuses)}`;
  return redirected ? `${seen}; it redirects to ${location.slice(0, 200)}` : seen;
}
