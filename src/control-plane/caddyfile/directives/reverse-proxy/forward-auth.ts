import type { Directive } from '../../context.ts';
import { canonicalHeaderName } from '../../header-name.ts';
import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf, wrongCount } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { Token } from '../../syntax/token.ts';
import { handlerDirective } from '../handler.ts';
import type { ProxyDraft } from './draft.ts';
import { fillDraft, finishDraft, newDraft } from './reverse-proxy.ts';

const OWN: readonly string[] = ['uri', 'copy_headers'];

/**
 * `forward_auth [<matcher>] <upstream>… { uri <to>; copy_headers <field>[><new name>]…; … }`: a `reverse_proxy` to a server
 * that is asked first. With 2xx the request goes on, else its answer is the client's.
 */
export const forwardAuth: Directive = handlerDirective('forward_auth', (statement, context) => {
  const draft = newDraft(context);
  const lines = blockOf(statement);
  draft.headersUp.set['X-Forwarded-Method'] = ['{http.request.method}'];
  draft.headersUp.set['X-Forwarded-Uri'] = ['{http.request.uri}'];
  draft.rewrite['method'] = 'GET';
  const copies = new Map<string, string>();
  for (const line of lines) {
    if (line.name.text === 'uri') setUri(line, draft);
    else if (line.name.text === 'copy_headers') for (const token of fieldsOf(line)) addCopy(token, copies);
  }
  if (draft.rewrite['uri'] === undefined) throw failure(statement.name, "the 'uri' subdirective is required");
  draft.responses.push(goodResponse(copies, draft, statement));
  const others = lines.filter((line) => !OWN.includes(line.name.text));
  fillDraft(draft, statement.args, others);
  return [finishDraft(draft)];
});

function setUri(line: Statement, draft: ProxyDraft): void {
  const [uri, surplus] = line.args;
  if (uri === undefined || uri.text === '' || surplus !== undefined) throw wrongCount(line);
  draft.rewrite['uri'] = uri.text;
  draft.context.adaptation.origins.mark(draft.rewrite, line.name);
}

/** On the line, and one a line in a block. */
function fieldsOf(line: Statement): readonly Token[] {
  const fields = [...line.args, ...blockOf(line).flatMap(({ name, args }) => [name, ...args])];
  if (fields.length === 0) throw wrongCount(line);
  return fields;
}

function addCopy({ text }: Token, copies: Map<string, string>): void {
  const [from = '', to = from] = text.split('>');
  copies.set(from, to);
}

/**
 * Routes that do not answer, so that the request goes on. What a client itself sends in a copied field never counts. A
 * handler that does nothing stands first, as in Caddy.
 */
function goodResponse(copies: ReadonlyMap<string, string>, draft: ProxyDraft, statement: Statement): JsonObject {
  const fields = [...copies].sort(([one], [other]) => (one < other ? -1 : 1));
  const routes: JsonObject[] = [{ handle: [{ handler: 'vars' }] }, ...fields.flatMap(copyRoutes)];
  return draft.context.adaptation.origins.mark({ match: { status_code: [2] }, routes }, statement.name);
}

function copyRoutes([from, to]: readonly [string, string]): JsonObject[] {
  const value = `{http.reverse_proxy.header.${canonicalHeaderName(from)}}`;
  const field = canonicalHeaderName(to);
  return [
    { handle: [{ handler: 'headers', request: { delete: [field] } }] },
    {
      match: [{ not: [{ vars: { [value]: [''] } }] }],
      handle: [{ handler: 'headers', request: { set: { [field]: [value] } } }],
    },
  ];
}
