import type { Directive, SiteContext } from '../../context.ts';
import { headerOpsJson, newHeaderOps } from '../../header-ops.ts';
import type { JsonObject } from '../../json.ts';
import { failure } from '../../syntax/failure.ts';
import { blockOf } from '../../syntax/read.ts';
import type { Statement } from '../../syntax/statement.ts';
import type { Token } from '../../syntax/token.ts';
import { nearestHint } from '../../unknown-word.ts';
import { handlerDirective } from '../handler.ts';
import { parseResponseMatcher } from '../response-matcher.ts';
import type { ProxyDraft, SubdirectiveTable } from './draft.ts';
import { DYNAMIC_SUBDIRECTIVES } from './dynamic.ts';
import { RESPONSE_SUBDIRECTIVES, responseEntries } from './handle-response.ts';
import { HEADER_SUBDIRECTIVES } from './headers.ts';
import { HEALTH_SUBDIRECTIVES } from './health.ts';
import { LOAD_BALANCING_SUBDIRECTIVES } from './load-balancing.ts';
import { PASSIVE_SUBDIRECTIVES } from './passive.ts';
import { REQUEST_SUBDIRECTIVES } from './request.ts';
import { STREAMING_SUBDIRECTIVES } from './streaming.ts';
import { TRANSPORT_SUBDIRECTIVES } from './transport.ts';
import { addUpstreams, UPSTREAM_SUBDIRECTIVES } from './upstreams.ts';

const SUBDIRECTIVES: SubdirectiveTable = {
  ...UPSTREAM_SUBDIRECTIVES,
  ...DYNAMIC_SUBDIRECTIVES,
  ...LOAD_BALANCING_SUBDIRECTIVES,
  ...HEALTH_SUBDIRECTIVES,
  ...PASSIVE_SUBDIRECTIVES,
  ...HEADER_SUBDIRECTIVES,
  ...REQUEST_SUBDIRECTIVES,
  ...STREAMING_SUBDIRECTIVES,
  ...TRANSPORT_SUBDIRECTIVES,
  ...RESPONSE_SUBDIRECTIVES,
};

/** `reverse_proxy [<matcher>] [<upstream>…] { … }`. */
export const reverseProxy: Directive = handlerDirective('reverse_proxy', (statement, context) => {
  const draft = newDraft(context);
  fillDraft(draft, statement.args, blockOf(statement));
  return [finishDraft(draft)];
});

export function fillDraft(draft: ProxyDraft, upstreams: readonly Token[], lines: readonly Statement[]): void {
  addUpstreams(upstreams, draft);
  for (const line of lines) {
    if (isResponseMatcher(line)) addResponseMatcher(line, draft);
  }
  for (const line of lines) {
    const { text } = line.name;
    if (isResponseMatcher(line)) continue;
    const parse = Object.hasOwn(SUBDIRECTIVES, text) ? SUBDIRECTIVES[text] : undefined;
    if (parse === undefined) {
      const hint = nearestHint(text, Object.keys(SUBDIRECTIVES));
      throw failure(line.name, `unrecognized subdirective ${text}${hint}`);
    }
    parse(line, draft);
  }
}

export function newDraft(context: SiteContext): ProxyDraft {
  return {
    context,
    upstreams: [],
    scheme: '',
    schemeToken: null,
    loadBalancing: {},
    active: {},
    passive: {},
    probe: null,
    headersUp: newHeaderOps(),
    headersDown: newHeaderOps(),
    rewrite: {},
    fields: {},
    transport: null,
    responseMatchers: new Map(),
    replacements: [],
    responses: [],
  };
}

function isResponseMatcher(line: Statement): boolean {
  return line.name.text.startsWith('@');
}

function addResponseMatcher(line: Statement, draft: ProxyDraft): void {
  const { text } = line.name;
  if (draft.responseMatchers.has(text)) throw failure(line.name, `matcher is defined more than once: ${text}`);
  draft.responseMatchers.set(text, parseResponseMatcher(line));
}

export function finishDraft(draft: ProxyDraft): JsonObject {
  const handler: JsonObject = { handler: 'reverse_proxy' };
  moveFields(draft.fields, handler, draft);
  const parts: Readonly<Record<string, JsonObject | JsonObject[] | null>> = {
    upstreams: draft.upstreams,
    load_balancing: draft.loadBalancing,
    health_checks: pick({ active: draft.active, passive: draft.passive, probe: draft.probe }),
    headers: pick({ request: headerOpsJson(draft.headersUp), response: headerOpsJson(draft.headersDown) }),
    rewrite: draft.rewrite,
    transport: finishTransport(draft),
    handle_response: responseEntries(draft),
  };
  return Object.assign(handler, pick(parts));
}

/** The parts that hold something. */
function pick(parts: Readonly<Record<string, JsonObject | JsonObject[] | null>>): JsonObject {
  const kept: JsonObject = {};
  for (const [key, part] of Object.entries(parts)) {
    if (part !== null && Object.keys(part).length > 0) kept[key] = part;
  }
  return kept;
}

function moveFields(from: JsonObject, to: JsonObject, draft: ProxyDraft): void {
  const { origins } = draft.context.adaptation;
  Object.assign(to, from);
  origins.adoptFields(from, to);
}

/** The scheme of the upstreams decides on TLS and HTTP/2; a transport that says nothing is left out. */
function finishTransport(draft: ProxyDraft): JsonObject | null {
  const { scheme, schemeToken, context } = draft;
  const transport: JsonObject = draft.transport ?? { protocol: 'http' };
  if (schemeToken !== null) context.adaptation.origins.mark(transport, schemeToken);
  if (scheme === 'http' && transport['tls'] !== undefined && schemeToken !== null) {
    throw failure(schemeToken, 'upstream address scheme is HTTP but transport is configured for HTTP+TLS (HTTPS)');
  }
  if (scheme === 'https') transport['tls'] ??= {};
  if (scheme === 'h2c') transport['versions'] = ['h2c', '2'];
  return Object.keys(transport).length > 1 ? transport : null;
}
