import { trackFields, warn } from '../../context.ts';
import { addHeaderOp, type HeaderOps } from '../../header-ops.ts';
import { failure } from '../../syntax/failure.ts';
import { some } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { ProxyDraft, SubdirectiveTable } from './draft.ts';

/** What the proxy sets by itself. */
const ALREADY_SET: Readonly<Record<string, string>> = {
  'x-forwarded-for': '{http.request.remote.host}',
  'x-forwarded-proto': '{http.request.scheme}',
  'x-forwarded-host': '{http.request.host}',
};

/** `header_up` and `header_down`: headers on the way to the upstream and back. */
export const HEADER_SUBDIRECTIVES: SubdirectiveTable = {
  header_up: (line, draft) => {
    addOp(line, draft.headersUp, draft);
    warnUnnecessary(line, draft);
  },
  header_down: (line, draft) => addOp(line, draft.headersDown, draft),
};

function addOp(line: Statement, ops: HeaderOps, draft: ProxyDraft): void {
  const [field, value, replacement] = some(line, 1, 3);
  if (field === undefined) return;
  if (field.text.startsWith('?')) {
    throw failure(field, `the ? modifier is for response headers only, in the header directive: ${field.text}`);
  }
  const { origins } = draft.context.adaptation;
  trackFields([ops.add, ops.set, ops.replace], line, origins, () => addHeaderOp(ops, field, value, replacement));
  for (const part of [ops.add, ops.set, ops.delete, ops.replace]) {
    if (Object.keys(part).length > 0) origins.mark(part, line.name);
  }
}

function warnUnnecessary(line: Statement, draft: ProxyDraft): void {
  const [field, value, replacement] = line.args;
  if (field === undefined || value === undefined || replacement !== undefined) return;
  if (ALREADY_SET[field.text.toLowerCase()] !== value.text) return;
  const message = `Unnecessary header_up ${field.text}: the reverse proxy's default behavior is to pass this header`;
  warn(draft.context.adaptation, line.name, 'header_up', message);
}
