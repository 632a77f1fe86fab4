import { BODY_CHUNKED, BODY_CLOSE } from './head.ts';

/** Whether a body framed like this (BODY_*) has no length: HTTP/1.1 gets it in chunks, HTTP/1.0 until the connection ends. */
export function isUnsized(body: number): boolean {
  return body === BODY_CHUNKED || body === BODY_CLOSE;
}

/** The head of a final response to a client of `version` (10 or 11), up to and with the empty line. */
export function responseHead(
  status: number,
  reason: string,
  lines: string,
  chunked: boolean,
  keepAlive: boolean,
  version: number,
): string {
  let head = `HTTP/1.1 ${status} ${reason}\r\n${lines}`;
  if (chunked) head += 'Transfer-Encoding: chunked\r\n';
  if (!keepAlive) head += 'Connection: close\r\n';
  else if (version < 11) head += 'Connection: keep-alive\r\n';
  return `${head}\r\n`;
}
