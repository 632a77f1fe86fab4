/** A request as HTTP/1 text becomes the field list of an HTTP/2 request (RFC 9113 section 8.3.1). */

/** They belong to one HTTP/1 connection (RFC 9113 section 8.2.2). `Host` becomes `:authority`. */
const DROPPED: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'host',
  'te',
]);

/**
 * `requestLine` is `METHOD target HTTP/1.1`, `lines` are whole field lines. Alternating names and values, pseudo-fields
 * first.
 */
export function requestFields(requestLine: string, lines: string, scheme: string): string[] {
  const methodEnd = requestLine.indexOf(' ');
  const method = requestLine.slice(0, methodEnd);
  const target = requestLine.slice(methodEnd + 1, requestLine.lastIndexOf(' '));
  const fields = [':method', method, ':scheme', scheme, ':authority', '', ':path', target];
  for (let start = 0; start < lines.length;) {
    const end = lines.indexOf('\r\n', start);
    const colon = lines.indexOf(':', start);
    const name = lines.slice(start, colon).toLowerCase();
    const value = lines.slice(colon + 1, end).trim();
    start = end + 2;
    if (!DROPPED.has(name)) fields.push(name, value);
    else if (name === 'host') fields[5] = value;
    // The only value it may have here, and what gRPC asks for.
    else if (name === 'te' && /\btrailers\b/i.test(value)) fields.push('te', 'trailers');
  }
  return fields;
}
