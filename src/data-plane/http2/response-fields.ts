/** Header lines of a response, or trailers, as HTTP/2 fields. */

/** RFC 9113 section 8.2.2, and what belongs to a handshake that HTTP/2 does not have (RFC 8441 section 5). */
const DROPPED: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'sec-websocket-accept',
]);

/** Alternating names and values, `:status` first. `lines` are whole field lines. */
export function responseFields(status: number, lines: string): string[] {
  const fields = [':status', String(status)];
  eachLine(lines, (name, value) => fields.push(name, value));
  return fields;
}

/** The same for functions of Node that want an object; `:status` is there when `status` is not 0. */
export function fieldsByName(status: number, lines: string): Record<string, string | string[]> {
  // Without a prototype: a peer may call a field `constructor`.
  const fields = Object.create(null) as Record<string, string | string[]>;
  if (status !== 0) fields[':status'] = String(status);
  eachLine(lines, (name, value) => {
    const before = fields[name];
    if (before === undefined) fields[name] = value;
    else fields[name] = Array.isArray(before) ? [...before, value] : [before, value];
  });
  return fields;
}

function eachLine(lines: string, take: (name: string, value: string) => void): void {
  for (let start = 0; start < lines.length;) {
    const end = lines.indexOf('\r\n', start);
    const colon = lines.indexOf(':', start);
    if (end < 0 || colon < 0) return;
    const name = lines.slice(start, colon).toLowerCase();
    if (!DROPPED.has(name)) take(name, lines.slice(colon + 1, end).trim());
    start = end + 2;
  }
}
