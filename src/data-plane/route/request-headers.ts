/** `request_header`: the field lines of the request change, for later matchers and placeholders and for the upstream. */
import type { HeaderOpsPlan } from '../../shared/plan/types.ts';
import { NO_NAMES } from '../http1/connection.ts';
import { fieldKind } from '../http1/field-kinds.ts';
import { FIELD_HOST, FIELD_OTHER, type Head } from '../http1/head.ts';
import { findField } from './field-list.ts';
import { applyHeaderOps, compileHeaderOps } from './header-ops.ts';
import type { ProcessFacts } from './placeholder/placeholder.ts';
import type { RequestView } from './request-view.ts';
import { hostOfAuthority } from './target.ts';

/** Throws `ConfigError` for bad names, bad regular expressions, and for deleting `Host`. */
export function compileRequestHeaders(plan: HeaderOpsPlan, facts: ProcessFacts): (request: RequestView) => void {
  const ops = compileHeaderOps(plan, 'request', facts);
  return (request) => {
    editFields(request, (fields) => applyHeaderOps(ops, fields, request));
    readHost(request);
  };
}

/** `edit` changes the alternating names and values of the request's field lines in place. */
export function editFields(request: RequestView, edit: (fields: string[]) => void): void {
  const fields = readFields(request);
  edit(fields);
  writeFields(request.head, fields);
}

/**
 * Alternating names and values. Fields that the client's Connection names go now (RFC 9110 section 7.6.1): later they
 * would take a field of the same name with them that the operator set. The Host line is what counts as host, also where
 * an absolute-form target overruled it.
 */
function readFields({ head, hostport }: RequestView): string[] {
  const fields: string[] = [];
  const dropped = head.connectionNames;
  for (let line = 0; line < head.count; line += 1) {
    const name = head.nameOf(line);
    if (dropped.length === 0 || !dropped.includes(name.toLowerCase())) fields.push(name, head.valueOf(line));
  }
  head.connectionNames = NO_NAMES;
  const at = findField(fields, 'host', 0);
  if (at >= 0) fields[at + 1] = hostport;
  else if (hostport !== '') fields.unshift('Host', hostport);
  return fields;
}

/** Puts other field lines into a parsed head. How its body ends and what it says of the connection stays. */
export function writeFields(head: Head, fields: readonly string[]): void {
  let text = head.text.slice(0, head.fieldsStart);
  head.first.fill(-1);
  head.repeated = 0;
  head.count = fields.length / 2;
  for (let line = 0; line < head.count; line += 1) {
    const start = text.length;
    const name = fields[line * 2]!;
    text += `${name}: ${fields[line * 2 + 1]!}`;
    const slot = line * 4;
    head.offsets[slot] = start;
    head.offsets[slot + 1] = start + name.length;
    head.offsets[slot + 2] = start + name.length + 2;
    head.offsets[slot + 3] = text.length;
    const kind = fieldKind(text, start, start + name.length);
    head.kinds[line] = kind;
    if (kind !== FIELD_OTHER && head.first[kind]! >= 0) head.repeated |= 1 << kind;
    else if (kind !== FIELD_OTHER) head.first[kind] = line;
    text += '\r\n';
  }
  head.text = text;
}

function readHost(request: RequestView): void {
  const hostport = request.head.known(FIELD_HOST);
  if (hostport === request.hostport) return;
  request.hostport = hostport;
  request.host = hostOfAuthority(hostport);
}
