/** The head of an HTTP/2 response as HTTP/1 text, so that the one response parser judges it too. */

/** RFC 9113 section 6.2. */
const FLAG_END_STREAM = 0x1;
/** RFC 9113 section 8.2.2: they say nothing here, and the framing is not theirs to decide. */
const DROPPED: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/**
 * `raw` alternates names and values. Where HTTP/2 has no length the text says `chunked`, which can carry trailers; a
 * response that ends with its head is empty.
 */
export function responseHeadText(raw: readonly string[], flags: number, method: string): string {
  let status = '';
  let lines = '';
  let hasLength = false;
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]!;
    if (name === ':status') status = raw[at + 1]!;
    if (name.startsWith(':') || DROPPED.has(name)) continue;
    if (name === 'content-length') hasLength = true;
    lines += `${name}: ${raw[at + 1]}\r\n`;
  }
  const bodyless = status.startsWith('1') || status === '204' || status === '304' || method === 'HEAD';
  if (!hasLength && !bodyless) {
    lines += (flags & FLAG_END_STREAM) === 0 ? 'transfer-encoding: chunked\r\n' : 'content-length: 0\r\n';
  }
  return `HTTP/1.1 ${status} \r\n${lines}\r\n`;
}

/** Field lines of trailers that may be forwarded, through `read` (one line without its end; null = malformed). */
export function trailerLines(raw: readonly string[], read: (line: string) => string | null): string {
  let lines = '';
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (!raw[at]!.startsWith(':')) lines += read(`${raw[at]}: ${raw[at + 1]}`) ?? '';
  }
  return lines;
}
