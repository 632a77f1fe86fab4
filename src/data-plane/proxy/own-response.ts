/** Responses of our own: what `respond` and `redir` say, and the plain text of a failure. */
import type { RespondDecision } from '../route/decision.ts';
import { encodeFields, type CompiledEncoding } from '../route/encode.ts';
import { applyDeferred, finishOwnFields, startOwnFields, type LeftForResponse } from '../route/response-ops.ts';
import type { RequestView } from '../route/request-view.ts';
import { errorFields } from './error-response.ts';
import { linesOf } from './hop-fields.ts';

export interface OwnResponse {
  readonly status: number;
  /** Framing included. */
  readonly lines: string;
  readonly body: Buffer;
  /** `lines` say so already; null = the body goes as it is. */
  readonly encoding: CompiledEncoding | null;
}

const NOTHING_LEFT: LeftForResponse = Object.freeze({ responseFields: [], responseOps: [] });

export function respondedWith(
  decision: RespondDecision,
  left: LeftForResponse | null,
  request: RequestView,
  encoding: CompiledEncoding | null,
): OwnResponse {
  const { status } = decision;
  const body = Buffer.from(decision.body, 'utf8');
  const own = [...decision.fields, 'Date', new Date(request.wallMs).toUTCString(), 'Server', 'holdfast'];
  const fields = startOwnFields(own, left ?? NOTHING_LEFT);
  const facts = { method: request.head.method, status, bodyBytes: body.length };
  const used = encoding !== null && encodeFields(encoding, facts, fields) ? encoding : null;
  if (left !== null) applyDeferred(fields, status, left, request);
  if (used === null && status !== 204 && status !== 304) fields.push('Content-Length', String(body.length));
  return { status, lines: linesOf(fields), body, encoding: used };
}

/** Fields that `header` handlers set go out with it; deferred operations are for other responses, as in Caddy. */
export function plainError(
  status: number,
  left: LeftForResponse | null,
  wallMs: number,
  request: RequestView,
  sentence: string,
): OwnResponse {
  const body = Buffer.from(`${sentence}\n`, 'latin1');
  const early = { responseFields: left?.responseFields ?? [], responseOps: [] };
  const lines = linesOf(finishOwnFields(errorFields(body.length, wallMs), status, early, request));
  return { status, lines, body, encoding: null };
}
