/** `encode`: whether a response is compressed on its way to the client, and what its fields say then. */
import type { EncodePlan, EncodingPlan } from '../../shared/plan/types.ts';
import { preferredCoding } from './accept-encoding.ts';
import { keepFields, findField } from './field-list.ts';
import { editFields } from './request-headers.ts';
import type { RequestView } from './request-view.ts';
import { compileRequire, type ResponseTest } from './response-ops.ts';

/** The format a client accepts, and which responses get it. */
export interface CompiledEncoding {
  readonly format: EncodingPlan;
  /** A body known to be shorter goes as it is. */
  readonly minBytes: number;
  readonly fits: ResponseTest;
}

/**
 * Returns the encoding for a response to `request`, or null. Where an entity tag that the client has was made by
 * `encodeFields`, what goes upstream is the upstream's own tag.
 */
export function compileEncode(plan: EncodePlan): (request: RequestView) => CompiledEncoding | null {
  const fits = compileRequire(plan.match);
  const names = plan.formats.map(({ name }) => name);
  const encodings = new Map(plan.formats.map((format) => [format.name, { format, minBytes: plan.minBytes, fits }]));
  return (request) => {
    const { head } = request;
    const name = preferredCoding(head.find('accept-encoding') === null ? '' : joined(request), names);
    if (name === null || head.find('sec-websocket-key') !== null) return null;
    if (/no-transform/i.test(head.find('cache-control') ?? '')) return null;
    if (head.find('if-none-match') !== null) restoreTags(request, name);
    return encodings.get(name)!;
  };
}

/** All Accept-Encoding lines as one. */
function joined({ head }: RequestView): string {
  const values: string[] = [];
  for (let line = 0; line < head.count; line += 1) {
    if (head.nameOf(line).toLowerCase() === 'accept-encoding') values.push(head.valueOf(line));
  }
  return values.join(',');
}

/** Strong tags only: weak ones are never changed. */
function restoreTags(request: RequestView, name: string): void {
  const ours = new RegExp(`(^|[,\\s])("[^"]*)-${name}"`, 'g');
  editFields(request, (fields) => {
    for (let at = findField(fields, 'if-none-match', 0); at >= 0; at = findField(fields, 'if-none-match', at + 2)) {
      fields[at + 1] = fields[at + 1]!.replace(ours, '$1$2"');
    }
  });
}

/** What of a response decides besides its fields. */
export interface ResponseFacts {
  /** The client's own. */
  readonly method: string;
  readonly status: number;
  /** Bytes of the body, −1 = not known. */
  readonly bodyBytes: number;
}

/**
 * Whether the response is to be encoded; its fields say so then: coding, `Vary`, no length, no ranges, another strong
 * entity tag (RFC 9110 section 8.8.3.3). A 304 gets its `Vary` like the response it stands for (section 15.4.5).
 */
export function encodeFields(encoding: CompiledEncoding, response: ResponseFacts, fields: string[]): boolean {
  if (response.status === 304) addVary(fields);
  if (!isEncodable(encoding, response, fields)) return false;
  keepFields(fields, (name) => name !== 'content-length' && name !== 'accept-ranges' && name !== 'content-encoding');
  fields.push('Content-Encoding', encoding.format.name);
  addVary(fields);
  const tag = findField(fields, 'etag', 0);
  if (tag >= 0) fields[tag + 1] = fields[tag + 1]!.replace(/^("[^"]*)"$/, `$1-${encoding.format.name}"`);
  return true;
}

function isEncodable(
  { minBytes, fits }: CompiledEncoding,
  { method, status, bodyBytes }: ResponseFacts,
  fields: readonly string[],
): boolean {
  if (method === 'HEAD' || status < 200 || status === 204 || status === 206 || status === 304) return false;
  if (bodyBytes === 0 || (bodyBytes > 0 && bodyBytes < minBytes)) return false;
  return !names(fields, 'content-encoding', /./) && !isForbidden(fields) && fits(status, fields);
}

function isForbidden(fields: readonly string[]): boolean {
  return findField(fields, 'content-range', 0) >= 0 || names(fields, 'cache-control', /no-transform/i);
}

function addVary(fields: string[]): void {
  if (!names(fields, 'vary', /(^|,)\s*(accept-encoding|\*)\s*(,|$)/i)) fields.push('Vary', 'Accept-Encoding');
}

/** Some line of that name has a value like this. */
function names(fields: readonly string[], lower: string, pattern: RegExp): boolean {
  for (let at = findField(fields, lower, 0); at >= 0; at = findField(fields, lower, at + 2)) {
    if (pattern.test(fields[at + 1]!)) return true;
  }
  return false;
}
