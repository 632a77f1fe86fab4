/** Answers the balancer gives itself: a status, a reason phrase and one sentence. Nothing about the inside. */
import { reasonOf } from '../http1/reasons.ts';
import { linesOf } from './hop-fields.ts';

const SENTENCES: Readonly<Record<number, string>> = {
  400: 'The request is not well-formed HTTP.',
  408: 'The request did not arrive in time.',
  413: 'The request body is too large.',
  414: 'The request line is too long.',
  417: 'The expectation is not supported.',
  431: 'The request header is too large.',
  501: 'The request asks for something this server does not implement.',
  502: 'The server behind this balancer could not be reached or answered badly.',
  503: 'No server is available for this request.',
  504: 'The server behind this balancer did not answer in time.',
  505: 'This HTTP version is not supported.',
};

export interface ErrorText {
  /** Header lines, framing included. */
  readonly lines: string;
  readonly body: string;
}

/**
 * What a client is told, and `{http.error.message}` of a failure of ours. `why`: half a sentence, in words of ours; '' =
 * there is nothing more to say.
 */
export function errorSentence(status: number, why: string = ''): string {
  const sentence = SENTENCES[status] ?? reasonOf(status);
  return why === '' ? sentence : `${sentence.replace(/\.$/, '')}: ${why}.`;
}

export function errorText(status: number, wallMs: number, why: string = ''): ErrorText {
  const body = `${errorSentence(status, why)}\n`;
  return { lines: linesOf(errorFields(body.length, wallMs)), body };
}

/** Alternating names and values of such an answer. */
export function errorFields(bodyBytes: number, wallMs: number): readonly string[] {
  return [
    ...['Content-Type', 'text/plain; charset=utf-8', 'Content-Length', String(bodyBytes)],
    ...['Date', new Date(wallMs).toUTCString(), 'Server', 'holdfast'],
  ];
}
